// The findings: a list of which one is open at a time, and its steps. Knows stories and drawings.

/** All findings. Keeps which one is focused and which step each shows. */
class Findings {
  constructor(report) {
    this.stories = report.stories.map((told, at) => new Story(told, at + 1));
    this.classes = report.classes;
    this.cards = this.stories.map((story) => new Card(story, this));
    this.current = this.cards[0] ?? null;
  }

  element() {
    return el("div", { class: "findings" }, this.cards.map((card) => card.element));
  }

  /** Open a card and close the others. into: move the focus and the page there too. */
  open(card, into = false) {
    for (const other of this.cards) if (other !== card) other.close();
    this.current = card;
    card.open();
    if (into) {
      card.button.focus({ preventScroll: true });
      card.element.scrollIntoView({ block: "start" });
    }
  }

  move(by) {
    const at = this.cards.indexOf(this.current) + by;
    const card = this.cards[Math.max(0, Math.min(this.cards.length - 1, at))];
    if (!card) return;
    this.open(card, true);
    this.remember(card);
  }

  step(by) {
    this.to((this.current?.step ?? 0) + by);
  }

  to(step) {
    if (!this.current) return;
    this.open(this.current);
    this.current.show(step);
    this.remember(this.current);
  }

  /** The address of what is shown, so that it can be passed on. */
  remember(card) {
    history.replaceState(null, "", `#finding-${card.fingerprint}/${card.step}`);
  }

  /** Go to what an address names: #finding-FINGERPRINT or #finding-FINGERPRINT/STEP. Whether there is such a finding. */
  visit(hash) {
    const [, fingerprint, step] = /^#finding-([^/]+)(?:\/(\d+))?$/.exec(hash) ?? [];
    const card = this.cards.find(({ story }) => story.ids.includes(fingerprint));
    if (!card) return false;
    card.fingerprint = fingerprint;
    this.open(card, true);
    if (step !== undefined) card.show(Number(step));
    return true;
  }
}

/** One trace and what it breaks. Its body is made when it is first opened: there may be many. */
class Card {
  constructor(story, findings) {
    this.story = story;
    this.findings = findings;
    this.fingerprint = story.ids[0];
    this.step = story.breaks;
    this.body = null;
    const region = `body-${story.ids[0]}`;
    this.button = el("button", { type: "button", class: "head", "aria-expanded": "false", "aria-controls": region }, cardHead(story));
    this.region = el("div", { class: "body", id: region, hidden: true });
    const anchors = story.ids.map((id) => el("span", { id: `finding-${id}`, class: "anchor" }));
    const known = story.findings.every(isKnown);
    this.element = el("article", { class: `card${known ? " is-known" : ""}` }, anchors, el("h3", {}, this.button), this.region);
    this.button.addEventListener("click", () => this.toggle());
  }

  toggle() {
    if (this.isOpen) return this.close();
    this.findings.open(this);
    this.findings.remember(this);
    if (this.element.getBoundingClientRect().top < 0) this.element.scrollIntoView({ block: "start" });
  }

  get isOpen() {
    return !this.region.hidden;
  }

  open() {
    if (!this.body) this.build();
    this.region.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
  }

  close() {
    this.region.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
  }

  build() {
    const { story } = this;
    this.steps = story.entries.map((entry, step) => stepElement(story, entry, step, () => this.findings.to(step)));
    this.slider = el("input", { type: "range", min: "0", max: story.last, step: "1", "aria-label": "Step", oninput: () => this.findings.to(Number(this.slider.value)) });
    this.place = el("span", { class: "place" });
    this.stage = el("div", { class: "stage" });
    const jump = (name, words, to) => el("button", { type: "button", class: "quiet", "aria-label": words, title: words, onclick: () => this.findings.to(to()) }, icon(name));
    this.controls = el(
      "div",
      { class: "controls" },
      jump("first", "First step", () => 0),
      jump("previous", "Previous step", () => this.step - 1),
      this.slider,
      jump("next", "Next step", () => this.step + 1),
      jump("last", "Last step", () => story.last),
      this.place,
    );
    this.outcome = el("div", { class: "outcome", "aria-live": "polite" });
    const several = story.findings.length > 1;
    this.body = [
      el("div", { class: `broken${several ? " several" : ""}` }, story.findings.map((finding) => brokenElement(finding, several))),
      el(
        "div",
        { class: "play" },
        el("section", { class: "story", "aria-label": "Steps" }, el("h4", {}, "The run"), el("p", { class: "setting" }, story.setting && `With ${story.setting}`), el("ol", { class: "steps", start: "0" }, this.steps)),
        el("section", { class: "pictures", "aria-label": "Pools, step by step" }, this.controls, this.outcome, this.stage, story.frames.length > 0 && legend(story)),
      ),
      story.findings.map((finding) => factsElement(finding, this.findings.classes)),
    ].flat();
    this.region.append(...this.body);
    this.show(this.step);
  }

  show(step) {
    if (!this.body) this.build();
    const { story } = this;
    this.step = Math.max(0, Math.min(story.last, step));
    this.slider.value = this.step;
    this.slider.setAttribute("aria-valuetext", `step ${this.step} of ${story.last}: ${story.entries[this.step].words}`);
    this.place.textContent = `${this.step} of ${story.last}`;
    this.steps.forEach((item, at) => {
      item.classList.toggle("current", at === this.step);
      item.firstChild.setAttribute("aria-current", at === this.step ? "step" : "false");
    });
    reveal(this.steps[this.step]);
    this.outcome.replaceChildren(...outcomeElements(story, this.step));
    const focused = this.stage.contains(document.activeElement) ? document.activeElement.dataset.sequence : null;
    this.stage.replaceChildren(drawing(story, this.step));
    if (focused) this.stage.querySelector(`[data-sequence="${focused}"]`)?.focus({ preventScroll: true });
  }
}

/** Scroll a list so that an item of it is seen; the page itself stays. */
function reveal(item) {
  const list = item.parentElement;
  const [top, bottom] = [item.offsetTop - list.offsetTop, item.offsetTop - list.offsetTop + item.offsetHeight];
  if (top < list.scrollTop) list.scrollTop = top;
  if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
}

// -- the head of a card -----------------------------------------------------------------------------------

function cardHead(story) {
  const [first] = story.findings;
  const laws = story.findings.map((finding) =>
    el("span", { class: "law" }, badge(finding), el("code", {}, breaking(finding.law)), isKnown(finding) && knownBadge()),
  );
  return [
    el("span", { class: "number" }, story.number),
    el("span", { class: "words" }, el("span", { class: "laws" }, laws), el("span", { class: "message" }, first.message)),
    el("span", { class: "size muted small" }, many(story.steps.length, "step")),
    icon("chevron"),
  ];
}

function badge(finding) {
  return el("span", { class: `level ${finding.level.toLowerCase()}` }, finding.level);
}

/** Whether the ledger of known deviations lets it pass: an entry that has expired does not. */
function isKnown(finding) {
  return finding.known ?? finding.found_by === "known";
}

function knownBadge() {
  return el("span", { class: "known-badge" }, icon("bookmark"), "known deviation");
}

// -- what is broken ---------------------------------------------------------------------------------------

/** The law in words, what should be and what is. several: else the head of the card has the message already. */
function brokenElement(finding, several) {
  return el(
    "section",
    { class: "finding", "aria-label": `Finding ${finding.law}` },
    el("p", { class: "statement" }, finding.statement || finding.law),
    several && el("p", { class: "message" }, el("code", {}, breaking(finding.law)), " ", finding.message),
    el(
      "dl",
      { class: "sides" },
      el("div", { class: "expected" }, el("dt", {}, icon("check"), "Expected"), el("dd", {}, finding.expected)),
      el("div", { class: "observed" }, el("dt", {}, icon("cross"), "Observed"), el("dd", {}, finding.observed)),
    ),
  );
}

function factsElement(finding, classes) {
  const likely = finding.fault_class.map((name) => el("li", {}, el("b", {}, name), classes[name] ? ` ${classes[name]}` : ""));
  return el(
    "dl",
    { class: "facts" },
    fact("Law", el("a", { href: `#law-${finding.law}` }, el("code", {}, breaking(finding.law)))),
    fact("Likely fault", likely.length > 0 && el("ul", {}, likely)),
    fact("Seen with", finding.features.join(", ")),
    fact("Found by", `${finding.found_by}, fingerprint ${finding.fingerprint}`),
    fact("Reproduce", finding.reproduce && copyable(finding.reproduce, "the command")),
    fact("Test", finding.test_file && copyable(finding.test_file, "the path of the test")),
  );
}

function fact(name, value) {
  return value ? el("div", {}, el("dt", {}, name), el("dd", {}, value)) : null;
}

// -- steps ------------------------------------------------------------------------------------------------

function stepElement(story, entry, step, go) {
  const frame = entry.frame >= 0 ? story.frames[entry.frame] : null;
  const breaks = step === story.breaks;
  const name = entry.kind === "operation" ? step : entry.kind === "start" ? "·" : "→";
  return el(
    "li",
    { class: `${entry.kind}${breaks ? " breaks" : ""}` },
    el(
      "button",
      { type: "button", onclick: go },
      el("span", { class: "at" }, name),
      el("span", { class: "told" }, entry.words, " ", breaks && el("span", { class: "here" }, icon("cross"), "breaks here")),
      el("span", { class: "ended small" }, frame ? ended(frame) : ""),
    ),
  );
}

/** How an operation ended, short. */
function ended(frame) {
  if (frame.result && frame.result !== "ok") return RESULTS[frame.result] ?? frame.result;
  return frame.verdict ? `guard ${OUTCOMES[frame.verdict] ?? frame.verdict}` : "";
}

function outcomeElements(story, step) {
  const entry = story.entries[step];
  const frame = entry.frame >= 0 ? story.frames[entry.frame] : null;
  const told = [el("p", { class: "doing" }, entry.kind === "operation" && el("b", {}, `${step}. `), entry.kind === "start" ? "Before the first operation" : entry.words)];
  if (!frame) return told;
  const chips = [];
  if (frame.verdict) chips.push(chip(frame.verdict === "ok" ? "good" : "hold", `guard said ${OUTCOMES[frame.verdict] ?? frame.verdict}`));
  if (frame.result) chips.push(chip(frame.result === "ok" ? "good" : frame.result === "refused" ? "hold" : "bad", RESULTS[frame.result] ?? frame.result));
  if (step === story.breaks) chips.push(chip("bad", story.findings.length === 1 ? `breaks ${story.findings[0].law}` : `breaks ${story.findings.length} laws`));
  if (chips.length) told.push(el("p", { class: "chips" }, chips));
  if (frame.error) told.push(el("p", { class: "raised" }, el("code", {}, frame.error)));
  return told;
}

function chip(kind, words) {
  return el("span", { class: `chip ${kind}` }, icon({ good: "check", bad: "cross", hold: "minus" }[kind]), words);
}
