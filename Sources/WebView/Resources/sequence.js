// The live sequence: the events so far, the position of a pause, and what is saved.

import { byID, count, draw, make, sizeWords, svgNamespace, table, timeWords, button } from "./dom.js";
import { connectionMechanisms, eventSentence, eventsOf, picture } from "./events.js";
import { diagram } from "./diagram.js";
import { isNarrow } from "./layout.js";

const keptEvents = 5000;

let events = [];
let lastNumber = 0;
let lost = 0;
/** The number of events that a paused diagram shows; null while it is live. */
let position = null;
let current = null;
let isSide = false;
let playing = null;
/** The number of events drawn. A narrow window has no scroll area for the diagram, so it begins with fewer. */
let shownEvents = null;

const eventsOfAPage = () => (isNarrow() ? 25 : 250);

function shownPosition() {
  return position ?? events.length;
}

/** The events that have a picture; the latest of them. */
function drawnEvents(all) {
  return all.filter(picture).slice(-(shownEvents ?? eventsOfAPage()));
}

let isDrawing = false;

function drawSoon() {
  if (isDrawing) return;
  isDrawing = true;
  setTimeout(() => {
    isDrawing = false;
    drawSequence();
  }, 60);
}

export function drawSequence() {
  const past = events.slice(0, shownPosition());
  const box = byID("diagrams");
  const isSplit = isSide && box.clientWidth > 700;
  box.classList.toggle("split", isSplit);
  const connections = connectionMechanisms(events);
  const parts = isSide
    ? ["2025", "legacy"].map((mechanism) => [`Sequence of ${mechanism}`, eventsOf(mechanism, past, connections)])
    : [["Sequence", past]];
  const lefts = [...box.querySelectorAll(".diagram")].map((frame) => frame.scrollLeft);
  const hadFocus = document.activeElement?.classList.contains("diagram");
  box.replaceChildren(...parts.map(([title, part]) => {
    const frame = make("div", { class: "diagram", tabindex: "0", role: "region", "aria-label": title });
    const room = (isSplit ? box.clientWidth / 2 - 8 : box.clientWidth || 600) - 2;
    frame.append(...diagram(drawnEvents(part), title, room, current, select));
    frame.addEventListener("keydown", (event) => walk(event, part));
    return make("div", { class: "part" }, isSide ? make("h3", {}, title) : null, frame);
  }));
  box.querySelectorAll(".diagram").forEach((frame, index) => {
    frame.scrollLeft = lefts[index] ?? 0;
    const chosen = frame.querySelector(".current");
    if (position === null) frame.scrollTop = frame.scrollHeight;
    else if (chosen) frame.scrollTop = Math.max(0, chosen.getBBox().y - frame.clientHeight + 80);
  });
  if (hadFocus) box.querySelector(".diagram").focus({ preventScroll: true });
  showList(past);
  showPosition(past);
}

function showList(past) {
  const list = byID("event-list");
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.number : null;
  list.replaceChildren(...drawnEvents(past).map((event) =>
    make("li", {}, button(eventSentence(event), () => select(event.number), { class: "link", "data-number": String(event.number) }))));
  // A new event must not move the keyboard focus out of the list.
  if (focused) list.querySelector(`[data-number="${focused}"]`)?.focus();
}

function showPosition(past) {
  const hidden = past.filter(picture).length - drawnEvents(past).length;
  byID("earlier-events").hidden = hidden === 0;
  byID("earlier-events").textContent = `Show earlier events (${hidden})`;
  byID("position").textContent = events.length === 0
    ? "Nothing has happened yet."
    : `${position === null ? "Live" : "Paused"}: ${shownPosition()} of ${count(events.length, "event", "events")}`;
  byID("pause").setAttribute("aria-pressed", String(position !== null));
  byID("pause").textContent = position === null ? "Pause" : "Continue";
  byID("back").disabled = shownPosition() === 0;
  byID("forward").disabled = position === null || position >= events.length;
  byID("lost").hidden = lost === 0;
  byID("lost").textContent = `${count(lost, "event was", "events were")} lost, because this page was too slow.`;
}

function select(number) {
  current = number;
  const event = events.find((candidate) => candidate.number === number);
  if (!event) return;
  const rows = [["event", eventSentence(event)], ["time", new Date(event.time).toISOString()]];
  if (event.duration !== undefined && event.duration !== null) rows.push(["duration", timeWords(event.duration)]);
  if (event.subject) rows.push(["subject", event.subject]);
  if (event.client) rows.push(["client", `${event.client}, process ${event.process}, connection ${event.connection}`]);
  if (event.received !== undefined && event.received !== null) rows.push(["size", `request ${sizeWords(event.received)}, answer ${sizeWords(event.sent)}`]);
  rows.push(["outcome", event.message ? `${event.outcome}: ${event.message}` : event.outcome]);
  byID("event").replaceChildren(table(rows));
  byID("event-box").classList.add("chosen");
  for (const group of document.querySelectorAll("svg .event")) group.classList.toggle("current", group.dataset.number === String(number));
}

/** Selects the next or the previous of these events with the arrow keys, and returns its number. */
function walk(key, all) {
  const change = { ArrowDown: 1, ArrowUp: -1 }[key.key];
  if (!change) return null;
  key.preventDefault();
  const drawn = drawnEvents(all);
  const index = drawn.findIndex((event) => event.number === current);
  const next = drawn[index < 0 ? (change > 0 ? 0 : drawn.length - 1) : Math.min(Math.max(index + change, 0), drawn.length - 1)];
  if (!next) return null;
  select(next.number);
  document.querySelector(`svg .event[data-number="${next.number}"]`)?.scrollIntoView({ block: "nearest" });
  return next.number;
}

function step(change) {
  position = Math.min(Math.max(shownPosition() + change, 0), events.length);
  const event = events[position - 1];
  current = event?.number ?? null;
  drawSequence();
  if (event) select(event.number);
}

/** Skips events that are not drawn, so that each click shows one event more or less. */
function stepDrawn(change) {
  const countDrawn = () => events.slice(0, shownPosition()).filter(picture).length;
  const before = countDrawn();
  do {
    step(change);
  } while (countDrawn() === before && shownPosition() > 0 && shownPosition() < events.length);
}

export function takeEvent(event) {
  if (event.number > lastNumber + 1 && lastNumber > 0) lost += event.number - lastNumber - 1;
  if (event.number <= lastNumber) return;
  lastNumber = event.number;
  // Events of the device arrive before requests of the same time, because the provider batches its events.
  let place = events.length;
  while (place > Math.max(0, events.length - 100) && events[place - 1].time > event.time) place -= 1;
  events.splice(place, 0, event);
  if (position !== null && place < position) position += 1;
  if (events.length > keptEvents) {
    const extra = events.length - keptEvents;
    events.splice(0, extra);
    if (position !== null) position = Math.max(0, position - extra);
  }
  drawSoon();
}

// MARK: Saving

function save(name, type, text) {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A diagram as a separate file: the colours of the page's style become attributes. */
function standalone(image) {
  const copy = image.cloneNode(true);
  const properties = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family"];
  const originals = [image, ...image.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, index) => {
    const style = getComputedStyle(originals[index]);
    for (const property of properties) element.setAttribute(property, style.getPropertyValue(property));
    element.removeAttribute("class");
  });
  copy.setAttribute("xmlns", svgNamespace);
  copy.prepend(draw("rect", { x: 0, y: 0, width: "100%", height: "100%", fill: getComputedStyle(image.parentElement).backgroundColor }));
  return new XMLSerializer().serializeToString(copy);
}

function recordingText() {
  return JSON.stringify({ format: "keyshare-recording", version: 1, events }, null, 1);
}

// MARK: Replay

/** Shows the events of a recording from its beginning. */
export function showRecording(recorded) {
  events = recorded;
  position = 0;
  for (const [id, isHidden] of [["play", false], ["pause", true], ["clear", true], ["save-json", true]]) byID(id).hidden = isHidden;
  drawSequence();
}

function play() {
  if (playing) {
    clearTimeout(playing);
    playing = null;
    byID("play").textContent = "Play";
    return;
  }
  if (shownPosition() >= events.length) position = 0;
  byID("play").textContent = "Stop";
  const next = () => {
    const before = events[shownPosition() - 1];
    stepDrawn(1);
    const after = events[shownPosition() - 1];
    if (shownPosition() >= events.length) {
      playing = null;
      byID("play").textContent = "Play";
      return;
    }
    playing = setTimeout(next, Math.min(700, Math.max(60, before && after ? after.time - before.time : 0)));
  };
  playing = setTimeout(next, 60);
}

// MARK: Controls

export function bindSequence() {
  byID("pause").addEventListener("click", () => {
    position = position === null ? events.length : null;
    drawSequence();
  });
  byID("back").addEventListener("click", () => stepDrawn(-1));
  byID("forward").addEventListener("click", () => stepDrawn(1));
  byID("play").addEventListener("click", play);
  byID("clear").addEventListener("click", () => {
    events = [];
    lost = 0;
    position = null;
    drawSequence();
  });
  byID("side").addEventListener("change", (event) => {
    isSide = event.target.checked;
    byID("main").classList.toggle("side", isSide);
    drawSequence();
  });
  byID("earlier-events").addEventListener("click", () => {
    shownEvents = (shownEvents ?? eventsOfAPage()) + eventsOfAPage();
    drawSequence();
  });
  byID("event-list").addEventListener("keydown", (event) => {
    const number = walk(event, events.slice(0, shownPosition()));
    if (number !== null) byID("event-list").querySelector(`[data-number="${number}"]`)?.focus();
  });
  byID("event-close").addEventListener("click", () => byID("event-box").classList.remove("chosen"));
  // The lanes share the available width.
  let width = 0;
  new ResizeObserver(() => {
    if (byID("diagrams").clientWidth === width) return;
    width = byID("diagrams").clientWidth;
    drawSoon();
  }).observe(byID("diagrams"));
  byID("save-svg").addEventListener("click", () => {
    document.querySelectorAll("#diagrams .whole").forEach((image, index) => save(`sequence${index ? `-${index + 1}` : ""}.svg`, "image/svg+xml", standalone(image)));
  });
  byID("save-json").addEventListener("click", () => save("recording.json", "application/json", recordingText()));
}
