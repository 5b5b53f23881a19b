// Package experiments has the experiments of the paper as plans, lists of runs, and carries them
// out.
//
//	training       the eight methods on the seven environments (table 1, figures 2, 6 to 8, 11, 12)
//	smerl-targets  soft actor-critic alone: what SMERL's targets are read from
//	adaptation     the skills of the eight methods under other gravity, with a weak leg, and with another target (figures 4, 13)
//	hurdles        a controller that chooses among the skills of the eight methods on halfcheetah-hurdles (figure 5)
//	sensitivity    MAP-Elites and DADS+REWARD with nine settings each (figures 3, 14)
//	prior          DIAYN+REWARD and DADS+REWARD that tell skills apart by whole observations on ant-omni (figures 15, 17)
//	reward         DIAYN and DADS without the task's reward beside their other versions (table 10, figure 16)
//
// Plans share their training runs: a run that two experiments need has the same configuration in
// both, so that it is trained once.
package experiments
