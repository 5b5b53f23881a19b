package paper

// curveItems are yet to come.
var curveItems []Item
