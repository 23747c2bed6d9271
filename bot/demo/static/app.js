// The page's life: ask what is new, show it, send what the visitor does.

import { brief, Chat } from "./chat.js";
import { Guide } from "./guide.js";
import { el, fill } from "./render.js";

const TOAST_MS = 3000;
const RETRY_MS = 1500;

const byId = (id) => document.getElementById(id);
const write = byId("write");
const state = { seen: -1, replyTo: null, typing: 0, start: null };

main();

async function main() {
  const start = await (await fetch("start")).json();
  state.start = start;
  const chat = new Chat({ start, act, onReply: reply, announce });
  const guide = new Guide({ start, send: say, announce });
  listen(chat);
  for (let isFirst = true; ; ) {
    const news = await ask();
    if (!news) continue;
    chat.apply(news, isFirst);
    guide.apply(news.guide, isFirst);
    showTyping(news.typing_s);
    for (const toast of news.toasts) {
      chat.settle(toast.query_id);
      if (!isFirst && toast.text) showToast(toast.text, toast.is_alert);
    }
    state.seen = news.version;
    isFirst = false;
  }
}

/** Wait for what is new; nothing while the demo cannot be reached. */
async function ask() {
  try {
    const response = await fetch(`news?seen=${state.seen}`);
    if (response.ok) {
      trouble("");
      return await response.json();
    }
    if (response.status === 403) {
      trouble(state.start.texts.closed);
      await new Promise(() => {}); // for good: another demo has this address now
    }
  } catch {
    // Unreachable: said below, and tried again.
  }
  trouble(state.start.texts.ended);
  await new Promise((done) => setTimeout(done, RETRY_MS));
  return null;
}

/** Post an act; give its answer, nothing where it was refused (which is shown). */
async function act(name, body) {
  let reason = state.start.texts.ended;
  try {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(name, { method: "POST", headers, body: JSON.stringify(body) });
    if (response.ok) return await response.json();
    reason = await response.text();
  } catch {
    // Unreachable: the reason stands.
  }
  showToast(fill(state.start.texts.failed, { reason }), true);
  return null;
}

async function say(text) {
  const body = { text, reply_to: state.replyTo };
  const answer = await act("say", body);
  if (answer) reply(null);
  return Boolean(answer);
}

// -- writing -------------------------------------------------------------------------------------------

function listen(chat) {
  byId("composer").addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = write.value.trim();
    if (!text) return;
    write.value = "";
    fit();
    // What was refused is given back, unless something else is being written by now.
    if (!(await say(text)) && !write.value) write.value = text;
    fit();
  });
  write.addEventListener("input", fit);
  write.addEventListener("keydown", (event) => {
    const isTouch = matchMedia("(pointer: coarse)").matches;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !isTouch) {
      event.preventDefault();
      byId("composer").requestSubmit();
    }
    if (event.key === "Escape" && state.replyTo) reply(null);
  });
  byId("cancel-reply").addEventListener("click", () => reply(null));
  byId("cancel-reply").setAttribute("aria-label", state.start.texts.cancel_reply);
  document.addEventListener("click", (event) => {
    const command = event.target.closest?.("[data-command]");
    if (command) say(command.dataset.command);
  });
  fit();
  // On a phone the keyboard would cover the page before it was read.
  if (!matchMedia("(pointer: coarse)").matches) write.focus();
}

/** Make the field as high as its text, and the button ready. */
function fit() {
  write.style.height = "auto";
  write.style.height = `${Math.min(write.scrollHeight, 160)}px`;
  byId("send").disabled = !write.value.trim();
}

/** Start a reply to a message; null ends it. */
function reply(message) {
  state.replyTo = message?.id ?? null;
  byId("replying").hidden = !message;
  if (message) {
    const name = message.is_from_bot ? state.start.texts.bot : state.start.texts.you;
    byId("replying-name").textContent = fill(state.start.texts.replying, { name });
    byId("replying-words").textContent = brief(message.text);
  }
  if (message) write.focus();
}

// -- signs ---------------------------------------------------------------------------------------------

/** Show that the bot works, for so many seconds. */
function showTyping(typing_s) {
  clearTimeout(state.typing);
  const isOn = typing_s > 0;
  byId("typing").hidden = !isOn;
  byId("presence").textContent = isOn ? state.start.texts.typing : state.start.texts.online;
  byId("presence").classList.toggle("is-on", isOn);
  if (isOn) state.typing = setTimeout(() => showTyping(0), typing_s * 1000);
}

function showToast(text, isAlert) {
  const toast = el("div", { class: `toast${isAlert ? " is-alert" : ""}` }, text);
  byId("toasts").append(toast);
  setTimeout(() => toast.remove(), isAlert ? 2 * TOAST_MS : TOAST_MS);
}

function trouble(text) {
  const box = byId("trouble");
  if (box.textContent !== text) box.textContent = text;
  box.hidden = !text;
}

/** Read something out. */
function announce(text) {
  const line = el("p", {}, text.slice(0, 2000));
  byId("announcer").append(line);
  setTimeout(() => line.remove(), 10000);
}
