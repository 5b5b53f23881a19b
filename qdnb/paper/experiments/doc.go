// Package experiments plans the experiments of the paper as lists of runs, and runs them.
//
//	training       the eight methods on the seven environments
//	               (table 1, figures 2, 6 to 8, 11, 12)
//	smerl-targets  soft actor-critic alone, to measure SMERL's target returns
//	adaptation     the skills of the eight methods under changed gravity, a weakened leg and a
//	               moved target (figures 4, 13)
//	hurdles        a meta-controller that selects skills of the eight methods on
//	               halfcheetah-hurdles (figure 5)
//	sensitivity    MAP-Elites and DADS+REWARD with nine settings each (figures 3, 14)
//	prior          DIAYN+REWARD and DADS+REWARD with skills discriminated by whole observations,
//	               on ant-omni (figures 15, 17)
//	reward         DIAYN and DADS without the task's reward, compared with their other versions
//	               (table 10, figure 16)
//	beyond         methods published after the paper, on three environments
//
// Plans share training runs: a run that two experiments need has the same configuration in both and
// is trained once.
package experiments
