"""Runs kvconform's vectors on a tiny block counter: python read_vectors.py vectors.jsonl (standard library only)."""

import json
import sys
from itertools import count


class Counter:
    """Numbered blocks without limits: what a manager's guards have to foresee, found by doing it."""

    def __init__(self, config):
        self.config, self.seqs, self.fresh = config, {}, count()

    def used(self, device, group=None):
        of = [seq for seq in self.seqs.values() if seq["on"] == device and group in (None, seq["group"])]
        return len({block for seq in of for block in seq["row"]})

    def write(self, seq, entry):
        row, others = seq["row"], [other["row"] for other in self.seqs.values() if other is not seq]
        if entry == len(row) or any(row[entry] in other for other in others):
            row[entry : entry + 1] = [next(self.fresh)]  # a new block at the end, or copy on write

    def do(self, op):
        kind, size = op["op"], self.config["block_size"]
        members = [seq for seq in self.seqs.values() if seq["group"] == op.get("group")]
        if kind == "allocate":
            tokens = len(op["tokens"])
            row = [next(self.fresh) for _ in range(0, tokens, size)]
            new = {"group": op["group"], "on": "gpu", "tokens": tokens, "seen": tokens}
            self.seqs.update({seq: {**new, "row": list(row)} for seq in op["seqs"]})
        for seq, tokens in op["tokens"].items() if kind == "step" else ():
            self.seqs[int(seq)]["tokens"] += len(tokens)
        if kind == "fork":
            parent, own = self.seqs[op["parent"]], len(op["tokens"])
            self.seqs[op["child"]] = {**parent, "row": list(parent["row"]), "tokens": parent["seen"] + own}
        for seq in members if kind in ("swap_out", "swap_in") else ():
            seq["on"] = "cpu" if kind == "swap_out" else "gpu"
        for seq in members if kind in ("append", "swap_in") else ():
            for slot in range(seq["seen"], seq["tokens"] + op.get("lookahead", 0)):
                self.write(seq, slot // size)
            seq["seen"] = seq["tokens"]

    def verdict(self, op):
        device = "cpu" if op["op"] == "swap_out" else "gpu"
        total, before = self.config[f"num_{device}_blocks"], self.used(device)
        own = self.used(device, op["group"]) if op["op"] == "append" else 0
        reserve = self.config["watermark_blocks"] if op["op"] in ("allocate", "swap_in") else 0
        self.do(op)
        need = self.used(device) - before + reserve
        return "ok" if total - before >= need else "later" if total - own >= need else "never"


with open(sys.argv[1], encoding="utf-8") as file:
    header, *lines = map(json.loads, file)
vectors, wrong = [line for line in lines if line.get("shows")], 0
for vector in vectors:
    counter = Counter(vector["config"])
    for op, accepted in zip(vector["operations"], vector["expects"], strict=True):
        wrong += (counter.verdict(op) != accepted[0]) if accepted else bool(counter.do(op))
print(f"{header['schema']}: {len(vectors)} vectors, {wrong} wrong verdicts")
