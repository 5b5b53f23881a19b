package qdnb

// For the ledger of programs.
var (
	Smallest = smallest
	OwnParts = ownParts
)
