package paper

// sensitivityItems are yet to come.
var sensitivityItems []Item
