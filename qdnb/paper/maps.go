package paper

// mapItems are yet to come.
var mapItems []Item
