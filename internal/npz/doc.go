// Package npz reads and writes NumPy's files: .npy holds one array, .npz is a zip archive of them.
//
// Everything a run keeps on disk is in this form, so that it can be opened anywhere:
//
//	>>> numpy.load("repertoire.npz")["fitnesses"]
//
// An [Array] is a dense block of numbers in C order (the last axis is contiguous) with its shape.
// [Read] and [Write] move whole files; [Open] reads the list of arrays and their shapes only, and
// then just the arrays asked for, so that the fitnesses of a repertoire do not cost its genotypes.
//
// Files are written atomically (a reader sees the old file or the new one, never a part) and
// deterministically (the same arrays give the same bytes). Arrays of a megabyte or more are stored
// as they are, since weights of networks do not compress; smaller ones are deflated. Files that are
// read may come from anywhere: what a header promises is checked against the size of the file
// before any memory is taken.
//
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
package npz
