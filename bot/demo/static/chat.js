// The messages: put in, changed in place, taken out; with focus, place and reading order kept.

import { el, fill, richText } from "./render.js";

const NEAR_PX = 120;
const BUSY_MS = 15000;
const STYLES = new Set(["primary", "success", "danger"]);

export class Chat {
  /** `act(name, body)` posts an act; `onReply(message)` starts a reply. */
  constructor({ start, act, onReply, announce }) {
    this.start = start;
    this.texts = start.texts;
    this.act = act;
    this.onReply = onReply;
    this.announce = announce;
    this.scroller = document.getElementById("messages");
    this.list = document.getElementById("list");
    this.empty = document.getElementById("empty");
    this.newest = document.getElementById("newest");
    this.messages = new Map();
    this.nodes = new Map();
    this.busy = new Map(); // query id → the message and data that were tapped
    this.canReact = false;
    this.newest.setAttribute("aria-label", this.texts.newest);
    this.newest.addEventListener("click", () => this.toEnd(true));
    this.isAtEnd = true;
    this.scroller.addEventListener("scroll", () => this.showWay(), { passive: true });
    // The end stays in sight when the field grows, a reply begins or a phone's keyboard opens.
    new ResizeObserver(() => this.isAtEnd && this.toEnd(false)).observe(this.scroller);
  }

  /** Take in what is new; the first time nothing is announced. */
  apply(news, isFirst) {
    this.canReact = news.can_react;
    for (const message of news.messages) this.put(message, isFirst);
    this.empty.hidden = this.nodes.size > 0;
    const isMine = news.messages.some((message) => message.sender_id === this.start.me);
    if (isMine || this.isAtEnd || isFirst) this.toEnd(false);
    else this.showWay();
  }

  put(message, isFirst) {
    const known = this.messages.get(message.id);
    this.messages.set(message.id, message);
    const node = this.nodes.get(message.id);
    if (message.is_deleted) {
      this.nodes.delete(message.id);
      if (node) this.remove(node);
      return;
    }
    const fresh = this.article(message);
    if (node) {
      const focused = this.focusIn(node);
      node.replaceWith(fresh);
      this.focusAgain(fresh, focused);
    } else {
      if (!isFirst) fresh.classList.add("is-new");
      this.insert(message.id, fresh);
    }
    this.nodes.set(message.id, fresh);
    // What rings on a phone is what is read out here; progress and the like stay silent.
    const rings = message.is_from_bot && !message.is_silent && !known;
    if (rings && !isFirst) this.announce(fill(this.texts.said, { text: message.text }));
  }

  insert(id, node) {
    const later = [...this.nodes.keys()].filter((other) => other > id).sort((a, b) => a - b)[0];
    this.list.insertBefore(node, later === undefined ? null : this.nodes.get(later));
  }

  remove(node) {
    if (node.contains(document.activeElement)) this.scroller.focus({ preventScroll: true });
    node.remove();
  }

  /** Say where the focus is within a message: which button, by its data. */
  focusIn(node) {
    const active = document.activeElement;
    return node.contains(active) ? { key: active.dataset.key } : null;
  }

  focusAgain(node, focused) {
    if (!focused) return;
    const buttons = [...node.querySelectorAll("[data-key]")];
    const target = buttons.find((button) => button.dataset.key === focused.key) ?? buttons[0];
    (target ?? this.scroller).focus({ preventScroll: true });
  }

  // -- one message -------------------------------------------------------------------------------------

  article(message) {
    const name = message.is_from_bot ? this.texts.bot : this.texts.you;
    const time = this.time(message);
    const node = el("article", {
      id: `m${message.id}`,
      class: `message ${message.is_from_bot ? "theirs" : "mine"}`,
      "aria-label": `${name}, ${time}`,
    });
    const bubble = el("div", { class: "bubble" });
    if (message.reply_to) bubble.append(this.quote(message.reply_to));
    bubble.append(el("div", { class: "text" }, richText(message.text, message.entities, this.texts)));
    if (message.file) bubble.append(this.file(message.file));
    bubble.append(this.footer(message, time));
    node.append(el("div", { class: "body" }, bubble, this.actions(message)));
    if (message.keyboard.length) node.append(this.keyboard(message));
    return node;
  }

  time(message) {
    const at = new Date(message.date * 1000);
    return at.toLocaleTimeString(this.start.language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  }

  quote(id) {
    const quoted = this.messages.get(id);
    const isThere = quoted && !quoted.is_deleted;
    const name = quoted?.is_from_bot === false ? this.texts.you : this.texts.bot;
    const words = isThere ? brief(quoted.text) : this.texts.deleted;
    const label = fill(this.texts.in_reply, { name, text: words });
    const node = el("button", { type: "button", class: "quote", "aria-label": label },
      el("b", {}, name), el("span", {}, words));
    node.addEventListener("click", () => this.show(id));
    return node;
  }

  file(file) {
    const name = fill(this.texts.download, { name: file.name });
    return el("a", { class: "file", href: `files/${encodeURIComponent(file.id)}`, download: file.name }, `📄 ${name}`);
  }

  footer(message, time) {
    const footer = el("div", { class: "meta" });
    const emoji = Object.values(message.reactions).flat();
    if (emoji.length) {
      const label = fill(this.texts.reactions, { emoji: emoji.join(" ") });
      footer.append(el("span", { class: "reactions", role: "img", "aria-label": label }, emoji.join(" ")));
    }
    if (message.edits && !message.is_from_bot) footer.append(el("span", {}, this.texts.edited));
    footer.append(el("time", { datetime: new Date(message.date * 1000).toISOString() }, time));
    return footer;
  }

  actions(message) {
    const box = el("div", { class: "actions" });
    const words = brief(message.text);
    const reply = el("button", {
      type: "button", class: "round quiet", "data-key": "reply", title: this.texts.reply_to,
      "aria-label": `${this.texts.reply_to}: ${words}`,
    }, el("span", { "aria-hidden": "true" }, "↩"));
    reply.addEventListener("click", () => this.onReply(message));
    box.append(reply);
    if (this.canReact && message.is_from_bot) for (const emoji of ["👍", "👎"]) box.append(this.reaction(message, emoji));
    return box;
  }

  reaction(message, emoji) {
    const mine = message.reactions[this.start.me] ?? [];
    const isSet = mine.includes(emoji);
    const label = fill(this.texts.react, { emoji });
    const button = el("button", {
      type: "button", class: "round quiet react", "data-key": `react${emoji}`,
      "aria-label": label, title: label, "aria-pressed": String(isSet),
    }, emoji);
    button.addEventListener("click", () =>
      this.act("react", { message_id: message.id, emoji: isSet ? [] : [emoji] }));
    return button;
  }

  // -- buttons -----------------------------------------------------------------------------------------

  keyboard(message) {
    const rows = message.keyboard.map((row) =>
      el("div", { class: "row" }, ...row.map((button) => this.key(message, button))));
    return el("div", { class: "keyboard" }, ...rows);
  }

  key(message, button) {
    const style = STYLES.has(button.style) ? ` is-${button.style}` : "";
    if (button.url) {
      const isSafe = /^https?:\/\//i.test(button.url);
      return el("a", { class: `key${style}`, href: isSafe ? button.url : null, target: "_blank", rel: "noopener noreferrer" }, button.text);
    }
    const isChosen = button.text.endsWith("•");
    const kind = [isChosen && "is-chosen", button.text.startsWith("✓ ") && "is-used",
      button.text.startsWith("⏳") && "is-waiting"].filter(Boolean).map((name) => ` ${name}`).join("");
    const isBusy = [...this.busy.values()].some((tap) => tap.id === message.id && tap.data === button.data);
    const node = el("button", {
      type: "button", class: `key${style}${kind}`, "data-key": button.data,
      "aria-pressed": /^[👍👎]/u.test(button.text) ? String(isChosen) : null, "aria-busy": isBusy && "true",
    }, button.text);
    node.addEventListener("click", () => this.tap(message, button, node));
    return node;
  }

  async tap(message, button, node) {
    if (node.getAttribute("aria-busy")) return;
    node.setAttribute("aria-busy", "true");
    const answer = await this.act("tap", { message_id: message.id, data: button.data });
    if (!answer) return node.removeAttribute("aria-busy");
    this.busy.set(answer.query_id, { id: message.id, data: button.data });
    if (this.answered?.has(answer.query_id)) this.settle(answer.query_id);
    setTimeout(() => this.settle(answer.query_id), BUSY_MS);
  }

  /** End a button's spinner: its tap was answered. */
  settle(query) {
    (this.answered ??= new Set()).add(query);
    const tap = this.busy.get(query);
    if (!tap) return;
    this.busy.delete(query);
    for (const key of this.nodes.get(tap.id)?.querySelectorAll("[data-key]") ?? [])
      if (key.dataset.key === tap.data) key.removeAttribute("aria-busy");
  }

  // -- where one is ------------------------------------------------------------------------------------

  show(id) {
    const node = this.nodes.get(id);
    if (!node) return;
    node.scrollIntoView({ block: "center", behavior: motion() });
    node.classList.remove("is-shown");
    requestAnimationFrame(() => node.classList.add("is-shown"));
  }

  isNear() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_PX;
  }

  toEnd(isSmooth) {
    this.scroller.scrollTo({ top: this.scroller.scrollHeight, behavior: isSmooth ? motion() : "auto" });
    this.newest.hidden = this.isAtEnd = true;
  }

  showWay() {
    this.newest.hidden = this.isAtEnd = this.isNear();
  }
}

function motion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
}

/** Give the beginning of a text, for a quote. */
export function brief(text) {
  const line = text.slice(0, 400).split("\n").find((each) => each.trim()) ?? "";
  return line.length > 80 ? `${line.slice(0, 80)}…` : line;
}
