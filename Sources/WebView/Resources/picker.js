// The document picker on the phone: rows as in the Files app, and the reason for the state of the selected row.

import { button, byID, capitalized, count, day, icon, make, sentence, shortSerial, table } from "./dom.js";
import { act, announce, post, state } from "./server.js";
import { ask, askAlso, showCode, showOutcome, typeName } from "./request.js";
import { isNarrow } from "./layout.js";

const stateWords = { enabled: "can be picked", disabled: "cannot be picked", absent: "left out of the list" };
const groupNames = { folder: "Folders", zip: "Zip archives", pkcs12: "Files" };

/** The list of a narrow window has no scroll area of its own, so it begins with fewer rows. */
const rowsOfAPage = () => (isNarrow() ? 40 : 200);

let limit = 0;
/** The identifier of the row whose reason is shown, or null. */
let explained = null;
/** Whether a click adds an item to the selection, as in the Files app after “Select”. */
let isSelectingSeveral = false;
/** The folder that the user opened although it cannot be picked, and the decision about it; null otherwise. */
let opened = null;
/** Whether the next list takes the keyboard focus, because the row that had it is gone. */
let focusesList = false;

// MARK: Loading

let turn = 0;

export async function loadPicker(needsRows, revealsPicks = false) {
  turn += 1;
  const own = turn;
  if (!state.phone?.provider.serving) return showPicker();
  const picker = await post("/api/picker", { ...state.request, rows: needsRows || state.rows.length === 0 });
  if (own !== turn) return;
  state.picker = picker;
  if (picker.rows) {
    state.rows = picker.rows;
    limit = rowsOfAPage();
  }
  state.decisions = picker.decisions;
  if (state.decisions.length !== state.rows.length) return loadPicker(true, revealsPicks);
  showPicker();
  if (revealsPicks) revealPicks();
}

/** Scrolls the phone's list to the first row that can be picked. */
function revealPicks() {
  const frame = byID("items");
  const row = frame.querySelector(".item[data-state=enabled]");
  if (!row || frame.scrollHeight <= frame.clientHeight) return;
  const heading = row.closest("section").querySelector("h3");
  const isFirst = row.closest("ul").querySelector(".item") === row;
  frame.scrollTop += (isFirst ? heading : row).getBoundingClientRect().top - frame.getBoundingClientRect().top - (isFirst ? 0 : 40);
}

function open(container) {
  const index = state.rows.findIndex((row) => row.identifier === container);
  const decision = index < 0 ? null : state.picker.reasons[state.decisions[index]];
  opened = decision && decision.state !== "enabled" ? { row: state.rows[index], decision } : null;
  explained = null;
  focusesList = true;
  return ask({ container, items: [] }, { needsRows: true });
}

// MARK: Rows

/** The two lines of a row: type and date, then the serial number after the expiry or, if the list has several, the person. */
function lines(row, isOnePerson) {
  const person = row.person ?? row.subject ?? "";
  if (row.kind === "folder") return [row.filename, "Folder"];
  if (row.kind === "zip") return [row.filename, `Zip archive · ${day(row.created)}`];
  if (!row.type || !row.serial) return [row.filename, day(row.created)];
  // The person's EDIPI, ten digits at the end of the name, is omitted for lack of room.
  const fact = isOnePerson ? `expires ${day(row.notAfter)}` : person.replace(/[.]\d{10}$/, "");
  return [`${capitalized(row.type)} · ${day(row.notBefore)}`, `${fact} · ${shortSerial(row.serial)}`];
}

/** The name of an item for people: its type and date if they are known, otherwise its file name or identifier. */
export function itemName(identifier) {
  const row = state.rows.find((each) => each.identifier === identifier);
  return row ? lines(row, true)[0] : identifier;
}

function rowButton(row, reason, isOnePerson, onclick) {
  const decision = state.picker.reasons[reason];
  const [title, facts] = lines(row, isOnePerson);
  return make("button",
    { type: "button", class: "item", "data-id": row.identifier, "data-kind": row.kind, "data-state": decision.state, "aria-pressed": String(state.request.items.includes(row.identifier)), tabindex: "-1", title: row.filename, onclick },
    icon(row.kind),
    make("span", { class: "lines" }, make("span", { class: "name" }, title), make("span", { class: "sub" }, facts), make("span", { class: "hidden state" }, stateWords[decision.state])),
    icon(row.kind === "folder" ? "open" : "check"));
}

function visibleRows() {
  const words = byID("filter").value.trim().toLowerCase();
  const all = state.rows.map((row, index) => ({ row, reason: state.decisions[index] }));
  if (!words) return all;
  return all.filter(({ row }) =>
    [row.filename, row.person, row.email, row.subject, row.serial, row.label].some((text) => text?.toLowerCase().includes(words)));
}

let listedKey = "";
let buttons = new Map();

/** Shows rows by kind. Existing rows only change their state, so that a click stays fast with many rows. */
function updateList(all) {
  const rows = ["folder", "zip", "pkcs12"].flatMap((kind) => all.filter(({ row }) => row.kind === kind)).slice(0, limit);
  const key = rows.map(({ row }) => row.identifier).join(" ");
  if (key !== listedKey) fillList(rows);
  listedKey = key;
  for (const { row, reason } of rows) {
    const item = buttons.get(row.identifier);
    const decision = state.picker.reasons[reason];
    if (item.dataset.state === decision.state) continue;
    item.dataset.state = decision.state;
    item.querySelector(".state").textContent = stateWords[decision.state];
  }
  for (const section of byID("items").querySelectorAll("section")) {
    const { kind } = section.dataset;
    const own = all.filter(({ row }) => row.kind === kind);
    const enabled = own.filter(({ reason }) => state.picker.reasons[reason].state === "enabled").length;
    section.querySelector(".count").textContent = enabled === own.length ? String(own.length) : `${enabled} of ${own.length} can be picked`;
  }
  showSelection();
}

function fillList(rows) {
  const list = byID("items");
  buttons = new Map();
  const sections = Object.keys(groupNames).map((kind) => {
    const own = rows.filter(({ row }) => row.kind === kind);
    if (own.length === 0) return null;
    const persons = new Set(own.map(({ row }) => row.person ?? row.subject ?? ""));
    const person = persons.size === 1 ? [...persons][0] : "";
    const entries = own.map(({ row, reason }) => {
      const item = rowButton(row, reason, persons.size === 1, (event) => choose(row, event));
      buttons.set(row.identifier, item);
      return make("li", {}, item);
    });
    return make("section", { "data-kind": kind, "aria-label": groupNames[kind] },
      make("h3", {}, make("span", {}, groupNames[kind]), make("span", { class: "person" }, person), make("span", { class: "count" })), make("ul", {}, ...entries));
  });
  list.replaceChildren(...sections.filter(Boolean));
}

/** Marks the selected rows, and makes one row reachable with the Tab key; the arrow keys reach the others. */
function showSelection() {
  const { items } = state.request;
  for (const item of byID("items").querySelectorAll("[aria-pressed=true]")) {
    if (!items.includes(item.dataset.id)) item.setAttribute("aria-pressed", "false");
  }
  for (const name of items) buttons.get(name)?.setAttribute("aria-pressed", "true");
  const all = [...buttons.values()];
  const target = buttons.get(explained) ?? buttons.get(items[0]) ?? all[0];
  byID("items").querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
  target?.setAttribute("tabindex", "0");
  const states = items.map((name) => state.rows.findIndex((row) => row.identifier === name))
    .map((index) => state.picker?.reasons[state.decisions[index]]?.state);
  const isServing = Boolean(state.phone?.provider.serving);
  const canImport = isServing && items.length > 0 && states.every((each) => each === "enabled");
  byID("import").disabled = !canImport;
  byID("import").title = items.length > 0 && !canImport ? "The selection contains an item that cannot be picked." : "";
  byID("chosen").textContent = items.length === 0 ? "No item selected" : count(items.length, "item selected", "items selected");
}

function walkRows(event) {
  const all = [...buttons.values()];
  const index = all.indexOf(document.activeElement);
  const target = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: all.length - 1 }[event.key];
  if (index < 0 || target === undefined || !all[target]) return;
  event.preventDefault();
  all[index].setAttribute("tabindex", "-1");
  all[target].setAttribute("tabindex", "0");
  all[target].focus();
}

function choose(row, event) {
  if (row.kind === "folder") return open(row.identifier);
  const { items } = state.request;
  const isMany = isSelectingSeveral || event.ctrlKey || event.metaKey || event.shiftKey;
  const others = isMany ? items.filter((item) => item !== row.identifier) : [];
  const isDropped = items.includes(row.identifier) && (isMany || items.length === 1);
  explained = isDropped ? null : row.identifier;
  // The row and its reason are shown at once; the server only adds the command.
  state.request.items = isDropped ? others : [...others, row.identifier];
  showSelection();
  showReason(true);
  return ask({}, { isNew: false });
}

// MARK: The reason

/** The selected row and its decision, listed or left out; null if no row is selected. */
function explainedRow() {
  const index = state.rows.findIndex((row) => row.identifier === explained);
  if (index >= 0) return { row: state.rows[index], reason: state.decisions[index] };
  return state.picker?.absent.find(({ row }) => row.identifier === explained) ?? null;
}

let shownReason = "";

/** Shows the reason below its row. */
function showReason(isNew) {
  const found = explained === null ? null : explainedRow();
  const item = found && (buttons.get(explained) ?? byID("absent").querySelector(`[data-id="${CSS.escape(explained)}"]`));
  const decision = found && state.picker.reasons[found.reason];
  const key = item ? JSON.stringify([explained, decision, state.request.types]) : "";
  let box = byID("why");
  if (key === shownReason && (!item || item.parentElement.contains(box))) return;
  shownReason = key;
  box?.remove();
  if (!item) return;
  box = reasonBox(found.row, decision);
  item.after(box);
  if (!isNew) return;
  announce(`${itemName(explained)} ${stateWords[decision.state]}: ${decision.message}`);
  // In a wide window only the phone's own list scrolls, so that the page does not move.
  const frame = byID("items");
  if (frame.contains(box) && frame.scrollHeight > frame.clientHeight) {
    const hiddenPart = box.getBoundingClientRect().bottom - frame.getBoundingClientRect().bottom;
    if (hiddenPart > 0) frame.scrollTop += hiddenPart + 8;
  } else if (isNarrow()) {
    box.scrollIntoView({ block: "nearest" });
  }
}

function reasonBox(row, decision) {
  const box = make("div", { id: "why", class: `why ${decision.state}` },
    make("p", {}, make("strong", {}, capitalized(stateWords[decision.state])), make("span", { class: "soft" }, ` (${decision.reason})`)),
    make("p", {}, sentence(decision.message)));
  const missing = decision.missing.filter((type) => !state.request.types.includes(type));
  const fixes = make("div", { class: "row" });
  if (missing.length > 1) fixes.append(button("Request all of these", () => askAlso(missing), { class: "primary advice" }));
  for (const type of missing) {
    fixes.append(button(`Request “${typeName(type)}”`, () => askAlso([type]), { class: missing.length > 1 ? "advice" : "primary advice", title: type }));
  }
  if (row.kind !== "folder" && state.request.mechanism === "2025" && decision.state !== "absent") {
    fixes.append(button("Certificates", () => act(() => showDetails(row)), { id: "details" }));
  }
  if (row.filename !== lines(row, true)[0]) box.append(make("p", { class: "soft file" }, row.filename));
  box.append(...(fixes.childElementCount > 0 ? [fixes] : []));
  return box;
}

/** Shows why the open folder itself cannot be picked, until its types are requested. */
function showFolderReason() {
  const isOpen = opened && state.request.container === opened.row.identifier;
  const isMissing = isOpen && opened.decision.missing.some((type) => !state.request.types.includes(type));
  byID("folder-why").replaceChildren(...(isMissing ? [reasonBox(opened.row, opened.decision)] : []));
  for (const box of byID("folder-why").children) box.removeAttribute("id");
}

async function showDetails(row) {
  const { item, entries } = await post("/api/details", { name: row.identifier });
  const box = byID("details-box");
  byID("details-title").textContent = `Certificates in ${item.filename}`;
  const parts = [];
  for (const entry of entries) {
    if (entry.filename) parts.push(make("h3", {}, entry.filename));
    if (entry.error) parts.push(make("p", { class: "failure" }, entry.error.message));
    for (const certificate of entry.certificates) {
      const isShown = (value) => value !== null && (typeof value !== "object" || (Array.isArray(value) && value.length > 0));
      const text = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
      parts.push(table(Object.entries(certificate).filter(([, value]) => isShown(value))
        .map(([name, value]) => [name, Array.isArray(value) ? value.map(text).join(", ") : text(value)])));
    }
  }
  box.replaceChildren(...parts);
  byID("details-dialog").showModal();
}

// MARK: The picker

export function showPicker() {
  const isServing = Boolean(state.phone?.provider.serving);
  const picker = isServing ? state.picker : null;
  for (const id of ["list", "search", "foot"]) byID(id).hidden = !picker;
  byID("absent-box").hidden = !picker || picker.absentCount === 0;
  byID("more").hidden = true;
  showCode(picker);
  showOutcome();
  if (!picker) {
    byID("import").disabled = true;
    return;
  }
  const isRoot = picker.container === "root";
  byID("up").hidden = isRoot;
  byID("place").textContent = isRoot ? picker.mechanism === "legacy" ? "Provider’s list" : "All items" : picker.container;
  const rows = visibleRows();
  updateList(rows);
  showFolderReason();
  if (focusesList) byID("items").querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  focusesList = false;
  byID("more").hidden = rows.length <= limit;
  byID("more").textContent = `Show more (${rows.length - limit} of ${rows.length})`;
  byID("nothing").hidden = rows.length > 0;
  byID("nothing").textContent = byID("filter").value.trim() ? "No item matches the search." : "This folder is empty.";
  byID("absent-title").textContent = `Left out: ${picker.absentCount}`;
  const key = JSON.stringify(picker.absent);
  if (byID("absent").dataset.key !== key) {
    byID("absent").dataset.key = key;
    byID("absent").replaceChildren(...picker.absent.map(({ row, reason }) => {
      const item = rowButton(row, reason, false, () => {
        explained = row.identifier;
        showReason(true);
      });
      item.setAttribute("tabindex", "0");
      return make("li", {}, item);
    }));
    shownReason = "";
  }
  showReason(false);
}

export function bindPicker() {
  byID("import").addEventListener("click", () => act(() => post("/api/import", state.request)));
  byID("items").addEventListener("keydown", walkRows);
  byID("up").addEventListener("click", () => open("root"));
  byID("more").addEventListener("click", () => {
    limit += rowsOfAPage();
    showPicker();
  });
  byID("filter").addEventListener("input", () => showPicker());
  byID("several").addEventListener("click", () => {
    isSelectingSeveral = !isSelectingSeveral;
    byID("several").setAttribute("aria-pressed", String(isSelectingSeveral));
  });
}
