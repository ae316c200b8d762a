// Draws the sequence diagram as SVG.

import { count, draw, shorten, timeWords, withShortLabels } from "./dom.js";
import { laneName, laneNames, permanentLanes, picture } from "./events.js";

const widestLane = 150;
const rowHeight = 38;
const headHeight = 38;
/** The width of a character on average, in pixels. */
const letter = 6.2;

function usedLanes(looks) {
  const used = new Set(permanentLanes());
  for (const look of looks) for (const lane of [look.from, look.to, look.note]) if (lane) used.add(lane);
  return Object.keys(laneNames).filter((lane) => used.has(lane));
}

/** The horizontal position of a text so that it stays inside the diagram. */
function inside(middle, text, left, width) {
  const half = (text.length * letter) / 2;
  return Math.max(left + half, Math.min(middle, width - 4 - half));
}

function drawArrow(group, look, y, x, bounds) {
  const [start, end] = [x(look.from), x(look.to)];
  const side = Math.sign(end - start) || 1;
  const middle = (start + end) / 2;
  const reach = Math.max(Math.abs(end - start), 150);
  const label = shorten(withShortLabels(look.label), Math.floor(reach / letter));
  group.append(
    draw("line", { class: "arrow", x1: start, x2: end - side * 7, y1: y + 21, y2: y + 21 }),
    draw("path", { class: "head", d: `M${end} ${y + 21}l${-side * 9} -4v8z` }),
    draw("text", { x: inside(middle, label, bounds.left, bounds.width), y: y + 15, "text-anchor": "middle" }, label));
  const facts = [look.reply, look.time === undefined || look.time === null ? "" : timeWords(look.time)].filter(Boolean).join(" · ");
  if (facts) group.append(draw("text", { class: "small", x: inside(middle, facts, bounds.left, bounds.width), y: y + 34, "text-anchor": "middle" }, facts));
}

function drawNote(group, look, y, x, bounds) {
  const label = shorten(look.label, Math.min(44, Math.floor((bounds.width - bounds.left - 20) / letter)));
  const width = label.length * 6.4 + 16;
  const left = Math.min(Math.max(bounds.left, x(look.note) - width / 2), bounds.width - width - 4);
  group.append(
    draw("rect", { class: "note", x: left, y: y + 8, width, height: 22, rx: 4 }),
    draw("text", { x: left + width / 2, y: y + 23, "text-anchor": "middle" }, label));
}

/** Draws the heads of the lanes into each of the images. */
function drawHeads(images, lanes, x, laneWidth, height) {
  const isTight = laneWidth < 76;
  for (const lane of lanes) {
    images[0].append(draw("line", { class: "life", x1: x(lane), x2: x(lane), y1: 36, y2: height - 4 }));
    for (const image of images) {
      image.append(
        draw("rect", { class: "lane", x: x(lane) - laneWidth / 2 + 2, y: 6, width: laneWidth - 4, height: 28, rx: 6 }),
        draw("text", { class: laneWidth < 58 ? "tightest" : isTight ? "tight" : "", x: x(lane), y: 25, "text-anchor": "middle" }, isTight ? shorten(laneName(lane).replace("/OS", ""), Math.floor(laneWidth / 5.6)) : laneName(lane)));
    }
  }
}

/**
 * Draws events as wide as there is room. Returns the lane heads, which stay visible while the diagram scrolls, and
 * the diagram, which also contains them for saved files.
 */
export function diagram(events, title, room, current, onSelect) {
  const drawn = events.map((event) => ({ event, look: picture(event) })).filter(({ look }) => look);
  const lanes = usedLanes(drawn.map(({ look }) => look));
  const left = room < 520 ? 4 : 62;
  const laneWidth = Math.min(widestLane, Math.floor((room - left - 4) / lanes.length));
  const width = left + lanes.length * laneWidth + 4;
  const height = headHeight + 6 + Math.max(1, drawn.length) * rowHeight + 8;
  const x = (lane) => left + Math.max(0, lanes.indexOf(lane)) * laneWidth + laneWidth / 2;
  const image = draw("svg", { class: "whole", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${count(drawn.length, "event", "events")}; the list below contains them as text` });
  const heads = draw("svg", { class: "lanes", width, height: headHeight, "aria-hidden": "true" });
  heads.append(draw("rect", { class: "cover", x: 0, y: 0, width, height: headHeight }));
  drawHeads([image, heads], lanes, x, laneWidth, height);
  const origin = drawn[0]?.event.time ?? 0;
  drawn.forEach(({ event, look }, index) => {
    const y = headHeight + 6 + index * rowHeight;
    const group = draw("g", { class: `event${look.isBad ? " bad" : ""}${event.number === current ? " current" : ""}`, "data-number": event.number });
    group.append(draw("rect", { class: "band", x: 0, y, width, height: rowHeight }));
    if (left > 4) group.append(draw("text", { class: "small", x: 6, y: y + 24 }, `+${((event.time - origin) / 1000).toFixed(2)} s`));
    (look.note ? drawNote : drawArrow)(group, look, y, x, { left, width });
    group.addEventListener("click", () => onSelect(event.number));
    image.append(group);
  });
  return [heads, image];
}
