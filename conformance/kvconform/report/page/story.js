// What a finding's pictures say, step by step. Knows the document's shape; draws nothing.

const COLOURS = 7; // as many as page.css has for owners

const OUTCOMES = { ok: "OK", later: "LATER", never: "NEVER", no: "NO" };

const RESULTS = {
  ok: "done",
  refused: "refused",
  partial: "refused, and keeps what it hit",
  "out-of-blocks": "ran out of blocks",
  raised: "raised an error",
  skipped: "skipped",
};

/** One trace with what it breaks. steps: the start, each operation, and what follows them where that shows it. */
class Story {
  constructor(told, number) {
    Object.assign(this, told);
    this.number = number;
    this.ids = this.findings.map((finding) => finding.fingerprint);
    this.frames = unfolded(told.frames);
    this.entries = [{ words: "start", kind: "start", frame: this.frameOf(0) }];
    told.steps.forEach((step, at) => {
      this.entries.push({ words: step.words, op: step.op, kind: "operation", frame: this.frameOf(at + 1) });
    });
    if (told.beyond) {
      const end = this.frames.findIndex((frame) => frame.operation === null);
      this.entries.push({ words: told.beyond, kind: "beyond", frame: end });
    }
    this.breaks = told.beyond ? this.entries.length - 1 : Math.min(this.findings[0].step, this.entries.length - 1);
    this.marked = new Set(this.findings.flatMap((finding) => finding.marked.map(([device, block]) => `${device} ${block}`)));
    const sequences = [...new Set(this.frames.flatMap((frame) => frame.sequences.map((sequence) => sequence.id)))];
    this.colours = new Map(sequences.sort((a, b) => a - b).map((id, at) => [id, at % COLOURS]));
  }

  /** Where the picture after this operation is; -1 where there is none. */
  frameOf(operation) {
    return this.frames.findIndex((frame) => frame.operation === operation);
  }

  get last() {
    return this.entries.length - 1;
  }

  /** The picture at a step: its own, else the nearest before it. */
  at(step) {
    for (let back = step; back >= 0; back--) {
      const frame = this.entries[back].frame;
      if (frame >= 0) return { frame: this.frames[frame], before: this.frames[frame - 1], own: back === step };
    }
    return null;
  }

  colour(sequence) {
    return `var(--owner-${this.colours.get(sequence) ?? 0})`;
  }
}

/** The pictures in full, from what changes between them. */
function unfolded(frames) {
  const pools = {};
  const sequences = new Map();
  return frames.map((told) => {
    const drawn = {};
    for (const [device, pool] of Object.entries(told.pools)) {
      const blocks = (pools[device] ??= new Map());
      pool.gone.forEach((number) => blocks.delete(number));
      pool.set.forEach((block) => blocks.set(block.block, { owners: [], covered: 0, written: 0, ...block }));
      const sorted = [...blocks.values()].sort((a, b) => a.block - b.block);
      drawn[device] = { total: pool.total, free: pool.free, blocks: sorted, known: new Map(blocks) };
    }
    told.sequences.forEach((sequence) => sequences.set(sequence.id, sequence));
    const live = told.order.map((id) => sequences.get(id));
    return { copies: [], moves: [], result: "", error: "", ...told, pools: drawn, sequences: live };
  });
}

/** A block's state in words. */
function blockWords(block, slots) {
  const owners = block.owners.length === 1 ? `sequence ${block.owners[0]}` : `sequences ${listed(block.owners)}`;
  const words = {
    free: "free",
    cached: "cached: free, and still has its content",
    null: "the null block, which stands for none",
    missing: "MISSING: in no block table and not in the free set",
    held: `held by ${owners}`,
  }[block.state];
  const told = [words];
  if (block.state === "held") {
    told.push(block.covered ? `${block.covered} of ${many(slots, "slot")} with tokens, ${block.written} with KV` : "lookahead slots only");
  }
  if (block.listed) told.push("IN THE FREE SET TOO");
  if (typeof block.refcount === "number") told.push(`refcount ${block.refcount}`);
  return told.join(", ");
}

/** What is different from the picture before: numbers of blocks, sequences, and all of it in words. */
function differences(before, frame, slots) {
  const blocks = new Set();
  const words = [];
  if (!before) return { blocks, sequences: new Set(), words };
  for (const [device, pool] of Object.entries(frame.pools)) {
    const old = before.pools[device]?.known ?? new Map();
    for (const number of new Set([...old.keys(), ...pool.known.keys()])) {
      const [was, is] = [old.get(number), pool.known.get(number)];
      if (was === is || same(was, is)) continue;
      blocks.add(`${device} ${number}`);
      words.push(`${device.toUpperCase()} block ${number}: ${blockChange(was, is, slots)}`);
    }
  }
  const known = new Map(before.sequences.map((sequence) => [sequence.id, sequence]));
  const sequences = new Set();
  for (const is of frame.sequences) {
    const was = known.get(is.id);
    known.delete(is.id);
    if (was && same(was, is)) continue;
    sequences.add(is.id);
    words.push(`sequence ${is.id}: ${was ? sequenceChange(was, is) : `new, ${many(is.tokens, "token")}`}`);
  }
  for (const id of known.keys()) words.push(`sequence ${id}: gone`);
  return { blocks, sequences, words };
}

function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

function blockChange(was, is, slots) {
  const [then, now] = [was, is].map((block) => (block ? shortState(block) : "free"));
  if (then !== now) return `${then} → ${now}`;
  const changed = [];
  if (was.written !== is.written) changed.push(`KV in ${was.written} → ${is.written} of ${many(slots, "slot")}`);
  if (was.covered !== is.covered) changed.push(`tokens in ${was.covered} → ${is.covered} of ${many(slots, "slot")}`);
  if (was.refcount !== is.refcount) changed.push(`refcount ${was.refcount ?? "?"} → ${is.refcount ?? "?"}`);
  return changed.join(", ") || "changed";
}

function shortState(block) {
  const held = block.owners.map((id) => `s${id}`).join(" + ");
  const lookahead = block.state === "held" && !block.covered ? " (lookahead)" : "";
  return (block.state === "held" ? held : block.state) + lookahead + (block.listed ? " and free" : "");
}

function sequenceChange(was, is) {
  const changed = [];
  if (was.status !== is.status) changed.push(`${was.status} → ${is.status}`);
  if (was.tokens !== is.tokens) changed.push(`tokens ${was.tokens} → ${is.tokens}`);
  if (was.covered !== is.covered) changed.push(`covered ${was.covered} → ${is.covered}`);
  if (was.computed !== is.computed) changed.push(`computed ${was.computed} → ${is.computed}`);
  if (!same(was.rows, is.rows) || was.device !== is.device) {
    changed.push(`block table ${rowWords(was)} → ${rowWords(is)}`);
  }
  return changed.join(", ") || "changed";
}

function rowWords(sequence) {
  const rows = sequence.rows.map((row) => {
    const shown = row.slice(0, 12).map((block) => block ?? "∅");
    return `[${shown.join(" ")}${row.length > 12 ? ` … of ${row.length}` : ""}]`;
  });
  return `${sequence.device.toUpperCase()} ${rows.join(" ")}`;
}
