package qdnb

// For the ledger of programs, and for variants of users.
var (
	Device   = device
	Smallest = smallest
	Lever    = lever
	OwnParts = ownParts
	Training = training
	Resumes  = resumes
)
