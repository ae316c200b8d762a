// The consumer's request: presets, the matrix of types, and the page's URL, which contains the request so that it
// survives reloading and going back.

import { button, byID, count, make } from "./dom.js";
import { act, state } from "./server.js";
import { loadPicker } from "./picker.js";

const forms = [["folder", "Folder"], ["files", "Files"], ["zip", "Zip"]];

export function readAddress() {
  const values = new URLSearchParams(location.hash.slice(1));
  const mechanism = values.get("mechanism") === "legacy" ? "legacy" : "2025";
  state.platform = values.get("phone") === "android" ? "android" : "iphone";
  state.request = {
    mechanism,
    types: values.getAll("uti"),
    container: mechanism === "2025" ? values.get("in") ?? "root" : "root",
    items: values.getAll("item"),
  };
}

export function writeAddress(isNew) {
  const values = new URLSearchParams({ mechanism: state.request.mechanism });
  if (state.platform !== "iphone") values.append("phone", state.platform);
  for (const type of state.request.types) values.append("uti", type);
  if (state.request.container !== "root") values.append("in", state.request.container);
  for (const item of state.request.items) values.append("item", item);
  const address = `#${values}`;
  if (address === location.hash) return;
  history[isNew ? "pushState" : "replaceState"](null, "", address);
}

/** Changes the request and updates the page. */
export function ask(changes, { needsRows = false, isNew = true, revealsPicks = false } = {}) {
  Object.assign(state.request, changes);
  writeAddress(isNew);
  showRequest();
  return act(() => loadPicker(needsRows || state.request.mechanism === "legacy", revealsPicks));
}

/** Adds types to the request. An empty request means the plain type, which stays requested. */
export function askAlso(types) {
  const asked = state.request.types.length > 0 ? state.request.types : state.picker.requested;
  return ask({ types: [...asked, ...types.filter((type) => !asked.includes(type))] });
}

/** The name of a type in the matrix, such as “PIV, folder”. */
export function typeName(identifier) {
  const type = state.session.types[state.request.mechanism].types.find((each) => each.identifier === identifier);
  if (!type) return identifier;
  return type.selector ? `${type.selector}, ${forms.find(([form]) => form === type.form)[1].toLowerCase()}` : generalNames[identifier] ?? type.description;
}

const generalNames = {
  "purebred2025.rsa.pkcs-12": "Single files of this provider", "com.rsa.pkcs-12": "Any PKCS #12 file",
  "public.zip-archive": "Any zip archive", "public.folder": "Any folder", "public.data": "Any file",
};

function typeBox(type, words) {
  const box = make("input", { type: "checkbox", value: type.identifier, title: type.identifier, "aria-label": words ? null : `${typeName(type.identifier)}: ${type.identifier}` });
  box.addEventListener("change", () => {
    const types = state.request.types.filter((each) => each !== type.identifier);
    if (box.checked) types.push(type.identifier);
    ask({ types });
  });
  return make("label", { title: type.identifier, class: words ? "check" : "cell" }, box, words ?? null);
}

/** The matrix of selectors and forms; the legacy mechanism has no folders. */
function matrix(types) {
  const columns = forms.filter(([form]) => types.some((type) => type.form === form && type.selector));
  const selectors = [...new Set(types.map((type) => type.selector).filter(Boolean))];
  const head = make("tr", {}, make("th", { scope: "col" }, "Selector"), ...columns.map(([, words]) => make("th", { scope: "col" }, words)));
  const rows = selectors.map((selector) => make("tr", {}, make("th", { scope: "row" }, selector),
    ...columns.map(([form]) => {
      const type = types.find((each) => each.selector === selector && each.form === form);
      return make("td", {}, type ? typeBox(type) : null);
    })));
  return make("table", { class: "matrix" }, make("caption", { class: "hidden" }, "Types by selector and form"), make("thead", {}, head), make("tbody", {}, ...rows));
}

function general(types, words) {
  return make("div", { class: "general", role: "group", "aria-label": words }, ...types.map((type) => typeBox(type, typeName(type.identifier))));
}

function showTypes() {
  const { types, presets } = state.session.types[state.request.mechanism];
  const others = types.filter((type) => !type.selector);
  byID("presets").replaceChildren(...presets.map((preset, index) =>
    make("li", {}, make("button", { type: "button", class: "preset", "data-preset": String(index), onclick: () => choosePreset(preset) },
      make("span", { class: "title" }, preset.name), make("code", {}, preset.key)))));
  const system = others.filter((type) => type.form === "system");
  byID("types").replaceChildren(
    matrix(types), general(others.filter((type) => type.form !== "system"), "General types"),
    ...(system.length > 0 ? [make("details", {}, make("summary", {}, "System types"), general(system, "System types"))] : []));
}

function choosePreset(preset) {
  return ask({ types: preset.types, container: "root", items: [] }, { needsRows: state.request.container !== "root", revealsPicks: true });
}

function sameTypes(one, other) {
  return one.length === other.length && one.every((type) => other.includes(type));
}

let shownMechanism = null;

export function showRequest() {
  const { mechanism, types } = state.request;
  if (shownMechanism !== mechanism) {
    shownMechanism = mechanism;
    showTypes();
  }
  for (const radio of document.querySelectorAll("input[name=mechanism]")) radio.checked = radio.value === mechanism;
  for (const box of byID("types").querySelectorAll("input")) box.checked = types.includes(box.value);
  const { presets } = state.session.types[mechanism];
  const index = presets.findIndex((entry) => sameTypes(entry.types, types));
  for (const card of byID("presets").querySelectorAll("button")) card.setAttribute("aria-pressed", String(card.dataset.preset === String(index)));
  byID("requested").replaceChildren(
    types.length === 0 ? "No type is requested, so the mechanism’s PKCS #12 type applies." : `${count(types.length, "type", "types")}: `,
    ...types.flatMap((type, place) => [place > 0 ? ", " : "", make("code", {}, ...breakable(type))]));
  byID("request-name").textContent = presets[index]?.name ?? `Custom request of ${count(types.length, "type", "types")}`;
}

/** A type identifier with line breaks allowed after its dots. */
function breakable(text) {
  return text.split(/(?<=[.])/).flatMap((part) => [part, make("wbr")]);
}

/** Shows the errors of the request, and how many items of the list it enables. */
export function showOutcome() {
  const { picker, rows, decisions } = state;
  const isShown = picker && state.phone?.provider.serving;
  byID("problems").replaceChildren(...(isShown ? picker.problems : []).map((problem) =>
    make("p", { class: "failure" }, problem.message, problem.hint ? ` Hint: ${problem.hint}` : "")));
  const enabled = isShown ? decisions.filter((reason) => picker.reasons[reason].state === "enabled").length : 0;
  byID("outcome").textContent = isShown ? `${enabled} of ${count(rows.length, "item", "items")} can be picked.` : "";
}

export function bindRequest(goToPhone) {
  for (const radio of document.querySelectorAll("input[name=mechanism]")) {
    radio.addEventListener("change", () => {
      state.rows = [];
      const presets = state.session.types[radio.value].presets;
      ask({ mechanism: radio.value, types: presets[0].types, container: "root", items: [] }, { needsRows: true, revealsPicks: true });
    });
  }
  byID("see-phone").addEventListener("click", goToPhone);
  const languages = [["command", "Command"], ["swift", "Swift"], ["objc", "Objective-C"]];
  const show = (chosen) => {
    for (const [id] of languages) {
      byID(id).hidden = id !== chosen;
      byID(`show-${id}`).setAttribute("aria-pressed", String(id === chosen));
    }
    byID("copy").dataset.copy = chosen;
  };
  byID("languages").replaceChildren(...languages.map(([id, words]) => button(words, () => show(id), { id: `show-${id}` })));
  show("command");
  byID("copy").addEventListener("click", () => act(async () => {
    await navigator.clipboard.writeText(byID(byID("copy").dataset.copy).textContent);
    byID("copy").textContent = "Copied";
    setTimeout(() => { byID("copy").textContent = "Copy"; }, 1500);
  }));
}

/** Shows the request as a command and as code. */
export function showCode(picker) {
  // A word of the command moves to the next line as a whole, and is divided only if it is longer than a line.
  const words = picker ? `${picker.command}\n${picker.explainCommand}`.split(/(\s)/) : [];
  byID("command").replaceChildren(...words.map((word) => (word.trim() ? make("span", {}, word) : word)));
  byID("swift").textContent = picker?.code?.swift ?? "";
  byID("objc").textContent = picker?.code?.objc ?? "";
}
