// Creates elements and formats values. Names from certificates, files and scenarios are always inserted as text.

export const svgNamespace = "http://www.w3.org/2000/svg";

export const byID = (id) => document.getElementById(id);

/** Creates an element with attributes and children; a string child is text, and null is omitted. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") element.addEventListener("click", value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function button(words, onclick, attributes = {}) {
  return make("button", { type: "button", onclick, ...attributes }, words);
}

/** Creates an SVG element. */
export function draw(name, attributes = {}, text) {
  const element = document.createElementNS(svgNamespace, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

const icons = {
  folder: "M2 5.5h5.5l2 2H18V16H2z", zip: "M4.5 2h8L16 5.5V18H4.5zM10 2v2m0 2v2m0 2v2m-1.5 2h3v2h-3z",
  pkcs12: "M2.5 10a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0M9.5 10H18v4m-4-4v3", locked: "M5 9h10v8H5zM7 9V6.5a3 3 0 0 1 6 0V9",
  unlocked: "M5 9h10v8H5zM7 9V6a3 3 0 0 1 6-.6", check: "M4 10.5l4 4 8-9", open: "M8 4l6 6-6 6",
};

/** A decorative icon; the text next to it has the same meaning. */
export function icon(kind) {
  const image = draw("svg", { viewBox: "0 0 20 20", class: `icon ${kind}`, "aria-hidden": "true" });
  image.append(draw("path", { d: icons[kind] ?? icons.pkcs12 }));
  return image;
}

export function count(number, one, many) {
  return `${number} ${number === 1 ? one : many}`;
}

export function identities(number) {
  return count(number, "identity", "identities");
}

/** The day of a date in ISO 8601. */
export function day(text) {
  return text ? text.slice(0, 10) : "";
}

export function capitalized(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A text as a sentence. */
export function sentence(text) {
  return /[.!?…]$/.test(text) ? capitalized(text) : `${capitalized(text)}.`;
}

export function shorten(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** A text with its labels shortened, which are SHA-256 hashes in hexadecimal. */
export function withShortLabels(text) {
  return text.replace(/[0-9A-F]{64}/g, (label) => `${label.slice(0, 8)}…`);
}

/** A long serial number as its beginning and end. */
export function shortSerial(serial) {
  return serial.length > 12 ? `${serial.slice(0, 4)}…${serial.slice(-4)}` : serial;
}

export function sizeWords(bytes) {
  return bytes >= 10240 ? `${Math.round(bytes / 1024)} KiB` : `${bytes} B`;
}

export function timeWords(milliseconds) {
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(2)} s`;
  return milliseconds >= 1 ? `${milliseconds.toFixed(1)} ms` : `${Math.round(milliseconds * 1000)} µs`;
}

/** A table of names and values. */
export function table(rows) {
  return make("table", { class: "facts" }, make("tbody", {}, ...rows.map(([name, value]) =>
    make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)))));
}
