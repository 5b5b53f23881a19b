// Package nn holds the networks of qdnb as views of flat rows, and what learns them.
//
// A network's parameters are one float32 row; a population of P networks is a matrix [P, N].
// Variation, optimisers, archives and files handle rows; [MLP.View] cuts them, once, into the
// biases and kernels that [Net.Apply] multiplies with. The order of a row is that of the paper's
// parameter files: layer by layer, bias before kernel, kernels [in, out] row-major.
//
//   - [Net] is a population, each network with inputs of its own; [Network] is one network for a whole batch, as a critic is.
//   - [Adam] and [Polyak] work on rows, or, in loops, on the arrays that rows were cut into ([UpdateTree]).
//   - [TanhGaussian] reads the outputs of an actor that draws its actions.
//   - [Statistics] are running ones, of what is seen step by step; a [Normaliser] is of sequences that are there at once.
//   - [Autoencoder] is AURORA's, of two [LSTM] cells, with gradients of its own.
package nn
