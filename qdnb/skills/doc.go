// Package skills is the reinforcement-learning family: one policy that is told which of a few skills to play, trained by
// [example.com/qdnb/qdnb/sac] so that its skills do different things.
//
// Its methods are two factors. A [Diversity] rewards skills for being told apart: [DIAYN] by a discriminator, [DADS] by how well each
// skill foretells what it does. An [Objective] says what that is worth beside the task: [DiversityOnly], [PlusReward] or [SMERL].
//
//	                 DiversityOnly   PlusReward     SMERL
//	DIAYN            DIAYN           DIAYN+REWARD   SMERL(DIAYN)
//	DADS             DADS            DADS+REWARD    SMERL(DADS)
//
// A new variant is one new factor. [Search] is the loop: act, store, update; it knows no factor by name.
package skills
