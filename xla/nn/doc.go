// Package nn holds the networks of qdnb as views of flat rows, and the optimisers that train them.
//
// A network's parameters are one float32 row; a population of P networks is a matrix [P, N].
// Variation, optimisers, archives and files work on rows; [MLP.View] cuts them once into the biases
// and kernels that [Net.Apply] uses. A row has the order of the paper's parameter files: layer by
// layer, bias before kernel, kernels [in, out] row-major.
//
//   - [Net] is a population in which each network has its own inputs. [Network] is one network for
//     a whole batch, such as a critic.
//   - [Adam] and [Polyak] work on rows or, in loops, on the arrays that rows were cut into
//     ([UpdateTree]).
//   - [TanhGaussian] is the action distribution of a stochastic actor.
//   - [Statistics] are running statistics, updated step by step. A [Normaliser] is computed from a
//     complete set of sequences.
//   - [Autoencoder] is AURORA's, made of two [LSTM] cells, with hand-written gradients.
package nn
