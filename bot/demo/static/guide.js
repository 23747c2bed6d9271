// The guide: the steps of the loop, what the agent is told, and what the project's tests say.

import { el, fill } from "./render.js";

const STEPS = ["ask", "vote", "reason", "decide", "better"];
const SUGGESTED = new Set(["ask", "better"]); // above the field, where the guide is folded away
const UNFOLDED_MS = 200; // what is still folded cannot take the focus
const PROMPTS = { ask: ["cart"], better: ["cart", "shipping"], done: ["shipping", "lessons"] };

export class Guide {
  constructor({ start, send, announce }) {
    this.start = start;
    this.texts = start.texts;
    this.send = send;
    this.announce = announce;
    this.shown = "";
    this.told = null;
    this.strip = document.getElementById("strip");
    this.panel = document.getElementById("guide");
    this.strip.addEventListener("click", () => {
      const isOpen = this.strip.getAttribute("aria-expanded") !== "true";
      this.open(isOpen);
      if (isOpen) setTimeout(() => this.panel.focus({ preventScroll: true }), UNFOLDED_MS);
    });
    this.panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.strip.offsetParent) {
        this.open(false);
        this.strip.focus();
      }
    });
  }

  /** Open or close it where it covers the chat (on a phone). */
  open(isOpen) {
    this.strip.setAttribute("aria-expanded", String(isOpen));
    document.body.classList.toggle("guide-open", isOpen);
  }

  apply(guide, isFirst) {
    const state = JSON.stringify([guide.step, guide.hint]);
    if (state !== this.shown) this.showSteps(guide, isFirst);
    this.shown = state;
    if (guide.told !== this.told) this.showTold(guide.told, isFirst);
    this.told = guide.told;
    this.showChecks(guide.suites);
  }

  showSteps(guide, isFirst) {
    const isDone = guide.step === "done";
    const now = isDone ? STEPS.length : STEPS.indexOf(guide.step);
    const items = STEPS.map((name, index) => this.step(name, index, now, guide));
    const list = document.getElementById("steps");
    const hadFocus = list.contains(document.activeElement);
    list.replaceChildren(...items);
    if (hadFocus) document.getElementById("write").focus();
    const title = isDone ? this.texts.all_done : this.start.steps[`${guide.step}.title`];
    document.getElementById("strip-step").textContent = isDone ? "✓" : `${now + 1}/${STEPS.length}`;
    document.getElementById("strip-title").textContent = title;
    document.getElementById("suggestions").replaceChildren(
      ...(SUGGESTED.has(guide.step) ? this.prompts(guide.step).slice(-1) : []));
    if (!isFirst && !isDone) this.announce(`${fill(this.texts.step, { number: now + 1, total: STEPS.length })}: ${title}`);
  }

  step(name, index, now, guide) {
    const state = index < now ? "done" : index === now ? "now" : "later";
    const item = el("li", { class: `step is-${state}`, "aria-current": state === "now" && "step" });
    const said = state === "later" ? "" : this.texts[`step_${state}`];
    item.append(
      el("span", { class: "number", "aria-hidden": "true" }, state === "done" ? "✓" : String(index + 1)),
      el("h3", {}, this.start.steps[`${name}.title`], said && el("span", { class: "unseen" }, ` (${said})`)),
    );
    const isLast = guide.step === "done" && index === STEPS.length - 1;
    if (state === "now" || isLast) {
      item.append(el("p", {}, this.words(name, guide)));
      const prompts = this.prompts(guide.step);
      if (prompts.length) item.append(el("div", { class: "prompts" }, ...prompts));
    }
    return item;
  }

  words(name, guide) {
    const texts = this.start.steps;
    if (guide.step === "done") return texts["better.text_done"];
    if (guide.hint === "rejected") return texts["decide.text_rejected"];
    if (guide.hint === "wait") return texts["reason.text_wait"];
    if (guide.hint === "other" && this.start.agent !== "pi") return texts["better.text_other"];
    if (name === "vote" && this.start.agent === "pi") return texts["vote.text_pi"];
    return texts[`${name}.text`];
  }

  prompts(step) {
    return (PROMPTS[step] ?? []).map((name) => {
      const words = this.start.prompts[name];
      const button = el("button", { type: "button", class: "prompt" }, words);
      button.addEventListener("click", () => {
        this.open(false);
        this.send(words);
      });
      return button;
    });
  }

  showTold(told, isFirst) {
    const block = document.getElementById("told");
    block.replaceChildren(...told.split(/(?<=\n)/).map((line) =>
      (line.startsWith("- ") ? el("mark", {}, line) : line)));
    block.hidden = !told;
    document.getElementById("told-nothing").hidden = Boolean(told);
    if (isFirst) return;
    block.classList.remove("is-changed");
    requestAnimationFrame(() => block.classList.add("is-changed"));
    this.announce(this.texts.told_changed);
  }

  showChecks(suites) {
    const state = JSON.stringify(suites);
    if (!suites.length || state === this.suites) return;
    this.suites = state;
    document.getElementById("checks").replaceChildren(...suites.map((suite) => {
      const kind = suite.failed === 0 ? "passed" : suite.failed < 0 ? "unknown" : "failing";
      return el("li", { class: `is-${kind}` }, fill(this.texts[kind], suite));
    }));
  }
}
