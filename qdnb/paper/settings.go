package paper

// settingItems are yet to come.
var settingItems []Item
