"""Times qdnb and its JAX peer on the same work, in turn, and prints the ratios (make bench-peer).

Both run a generation of MAP-Elites on pointmaze: 1000 policies of 2 x 256 units, 250 steps, variation and insertion
included. The peer runs the population at once and in slices; the better one counts. Machines drift: only the ratio within a
round means something.
"""
import json
import statistics
import subprocess
import sys

ROUNDS = 3
GENERATIONS = 5
SLICES = (0, 4)


def last_json(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"bench-peer: {' '.join(command)} failed with status {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    qdnb, python, peer = sys.argv[1:]
    rows, ratios = [], {s: [] for s in SLICES}
    print(f"{'round':>5}  {'qdnb s':>8}  " + "  ".join(f"{'jax, ' + (f'slices of {s}' if s else 'whole'):>18}  {'ratio':>6}" for s in SLICES))
    for r in range(ROUNDS):
        ours = last_json([qdnb, "bench", "generation", "--generations", str(GENERATIONS), "--json"])
        line = f"{r + 1:>5}  {ours['generation_s']:>8.3f}  "
        for s in SLICES:
            theirs = last_json([python, peer, "--generations", str(GENERATIONS), "--chunk", str(s)])
            ratio = theirs["median_s"] / ours["generation_s"]
            ratios[s].append(ratio)
            line += f"{theirs['median_s']:>18.3f}  {ratio:>6.2f}  "
        rows.append(ours)
        print(line, flush=True)
    print("median" + " " * 10 + "".join(f"  {'':>18}  {statistics.median(v):>6.2f}" for v in ratios.values()))
    print(f"{rows[0]['backend']}, {rows[0]['workers']} workers; {theirs['peer']}; seconds per generation, medians of {GENERATIONS}; "
          f"variation and insertion {100 * statistics.median(x['variation_share'] for x in rows):.1f} % of ours")


if __name__ == "__main__":
    main()
