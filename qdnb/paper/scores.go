package paper

// scoreItems are yet to come.
var scoreItems []Item
