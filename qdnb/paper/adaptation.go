package paper

// adaptationItems are yet to come.
var adaptationItems []Item
