"""Compares learning curves of a peer with runs of qdnb: medians and ranges over seeds.

    python compare.py PEER.jsonl RUN/metrics.csv...

A line of PEER.jsonl is a seed. scores holds its metrics at some generations, under qdnb's names.
seconds and cpu, if there, are per generation.
"""
import argparse
import csv
import json
import statistics


def spread(values):
    values = [float(x) for x in values]
    return f"{statistics.median(values):.6g} ({min(values):.6g} to {max(values):.6g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", help="the output of a peer's curves")
    parser.add_argument("metrics", nargs="+", help="metrics.csv of the runs of qdnb")
    args = parser.parse_args()
    with open(args.peer) as f:
        peer = [json.loads(line) for line in f]
    runs = []
    for path in args.metrics:
        with open(path) as f:
            runs.append({int(row["generation"]): row for row in csv.DictReader(f)})
    name = peer[0]["peer"]
    for k, score in enumerate(peer[0]["scores"]):
        generation = score["generation"]
        for metric in score:
            if metric != "generation":
                ours = spread(run[generation][metric] for run in runs)
                theirs = spread(p["scores"][k][metric] for p in peer)
                print(f"generation {generation:4} {metric:18} qdnb {ours:42} {name} {theirs}")
    last = max(runs[0])
    each = spread((float(run[last]["seconds"]) - float(run[1]["seconds"])) / (last - 1) for run in runs)
    print("seconds per generation: qdnb", each)
    for kind in sorted({"seconds", "cpu"} & peer[0].keys()):
        print(f"{kind} per generation: {name}", spread(p[kind] for p in peer))


if __name__ == "__main__":
    main()
