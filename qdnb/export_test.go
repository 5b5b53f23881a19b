package qdnb

// For the ledger of programs.
var (
	Smallest = smallest
	Lever    = lever
	OwnParts = ownParts
)
