// The page of `keyshare-device web`. It displays the server's data and sends the user's choices. It decides nothing
// about types, items or keys. Names from certificates, files and scenarios are always inserted as text.

const byID = (id) => document.getElementById(id);
const svgNamespace = "http://www.w3.org/2000/svg";
const shownRows = 200;
const shownEvents = 250;
const keptEvents = 5000;

const state = {
  session: null,
  phone: null,
  request: { mechanism: "2025", types: [], container: "root", items: [] },
  picker: null,
  rows: [],
  decisions: [],
  limit: shownRows,
  explained: null,
  events: [],
  lastNumber: 0,
  lost: 0,
  position: null,
  current: null,
  isSide: false,
  playing: null,
};

/** Creates an element with attributes and children; a string child is text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") element.addEventListener("click", value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function draw(name, attributes = {}, text) {
  const element = document.createElementNS(svgNamespace, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// MARK: Requests to the server

async function get(path) {
  const response = await fetch(path);
  if (!response.ok) throw { message: await response.text() };
  return response.json();
}

async function post(path, body = {}) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-KeyShare-Token": state.session.token },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw { message: await response.text() };
  const answer = await response.json();
  if (answer.error) throw answer.error;
  return answer;
}

function tell(error) {
  const box = byID("notice");
  box.replaceChildren();
  box.hidden = !error;
  if (!error) return;
  const message = error.message ?? String(error);
  box.append(make("p", {}, message));
  if (error.hint) box.append(make("p", { class: "soft" }, `Hint: ${error.hint}`));
  box.append(make("button", { type: "button", onclick: () => tell(null) }, "Close"));
}

/** Runs an action of the user, and shows its failure. */
async function act(action) {
  tell(null);
  try {
    await action();
  } catch (error) {
    tell(error);
  }
}

// MARK: The request, which is part of the page's URL so that it survives reloading and going back

function readAddress() {
  const values = new URLSearchParams(location.hash.slice(1));
  const mechanism = values.get("mechanism") === "legacy" ? "legacy" : "2025";
  state.request = {
    mechanism,
    types: values.getAll("uti"),
    container: mechanism === "2025" ? values.get("in") ?? "root" : "root",
    items: values.getAll("item"),
  };
}

function writeAddress(isNew) {
  const values = new URLSearchParams({ mechanism: state.request.mechanism });
  for (const type of state.request.types) values.append("uti", type);
  if (state.request.container !== "root") values.append("in", state.request.container);
  for (const item of state.request.items) values.append("item", item);
  const address = `#${values}`;
  if (address === location.hash) return;
  history[isNew ? "pushState" : "replaceState"](null, "", address);
}

/** Changes the request and updates the page. */
function ask(changes, { needsRows = false, isNew = true } = {}) {
  Object.assign(state.request, changes);
  writeAddress(isNew);
  showRequest();
  return act(() => loadPicker(needsRows || state.request.mechanism === "legacy"));
}

let pickerTurn = 0;

async function loadPicker(needsRows) {
  pickerTurn += 1;
  const turn = pickerTurn;
  if (!state.phone?.provider.serving) return showPicker();
  const picker = await post("/api/picker", { ...state.request, rows: needsRows || state.rows.length === 0 });
  if (turn !== pickerTurn) return;
  state.picker = picker;
  if (picker.rows) {
    state.rows = picker.rows;
    state.limit = shownRows;
  }
  state.decisions = picker.decisions;
  if (state.decisions.length !== state.rows.length) return loadPicker(true);
  showPicker();
}

// MARK: The requested types

function showTypes() {
  const choices = state.session.types[state.request.mechanism];
  const groups = new Map();
  for (const type of choices.types) {
    if (!groups.has(type.group)) groups.set(type.group, []);
    groups.get(type.group).push(type);
  }
  byID("types").replaceChildren(
    ...[...groups].map(([group, types]) => {
      const list = make("div", { class: "types" });
      for (const type of types) {
        const box = make("input", { type: "checkbox", value: type.identifier });
        box.addEventListener("change", () => toggleType(type.identifier, box.checked));
        list.append(make("label", {}, box, make("span", {}, type.description || type.identifier, " ", make("code", {}, type.identifier))));
      }
      return make("fieldset", {}, make("legend", {}, group), list);
    }));
  const preset = byID("preset");
  preset.replaceChildren(
    make("option", { value: "" }, "own choice"),
    ...choices.presets.map((entry, index) => make("option", { value: String(index) }, entry.name)));
}

function toggleType(identifier, isAsked) {
  const types = state.request.types.filter((type) => type !== identifier);
  if (isAsked) types.push(identifier);
  ask({ types });
}

function sameTypes(one, other) {
  return one.length === other.length && one.every((type) => other.includes(type));
}

let shownMechanism = null;

function showRequest() {
  const { mechanism, types } = state.request;
  if (shownMechanism !== mechanism) {
    shownMechanism = mechanism;
    showTypes();
  }
  for (const radio of document.querySelectorAll("input[name=mechanism]")) radio.checked = radio.value === mechanism;
  for (const box of byID("types").querySelectorAll("input")) box.checked = types.includes(box.value);
  const presets = state.session.types[mechanism].presets;
  const index = presets.findIndex((entry) => sameTypes(entry.types, types));
  byID("preset").value = index < 0 ? "" : String(index);
}

// MARK: The picker

const icons = {
  folder: "M2 5h5l2 2h9v10H2z", zip: "M4 2h9l3 3v13H4zM9 2v2m0 2v2m0 2v2m-1 2h2v2H8z",
  pkcs12: "M2 10a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0M9 10h9v4m-4-4v3",
};

/** A decorative icon for the kind of an item; the text next to it has the same meaning. */
function icon(kind) {
  const image = draw("svg", { viewBox: "0 0 20 20" });
  image.append(draw("path", { d: icons[kind] ?? icons.pkcs12 }));
  return image;
}
const stateWords = { enabled: "can be picked", disabled: "cannot be picked", absent: "left out" };

/** A name with line breaks allowed after its dots. */
function breakable(text) {
  return text.split(/(?<=[.])/).flatMap((part) => [part, make("wbr")]);
}

function day(text) {
  return text ? text.slice(0, 10) : "";
}

function subline(row) {
  const person = row.person ?? row.subject ?? "";
  const validity = row.notAfter ? `${day(row.notBefore)} to ${day(row.notAfter)}` : day(row.created);
  return [row.type ?? row.kind, person, validity].filter(Boolean).join(" · ");
}

function itemButton(row, reason, choose) {
  const decision = state.picker.reasons[reason];
  const isChosen = state.request.items.includes(row.identifier);
  return make("button",
    { type: "button", class: "item", "data-id": row.identifier, "data-state": decision.state, "aria-pressed": String(isChosen), onclick: choose },
    make("span", { class: "icon", "aria-hidden": "true" }, icon(row.kind)),
    make("span", { class: "name" }, row.filename),
    make("span", { class: "state" }, row.kind === "folder" && decision.state !== "absent" ? "open" : stateWords[decision.state]),
    make("span", { class: "sub" }, subline(row)));
}

function visibleRows() {
  const words = byID("filter").value.trim().toLowerCase();
  const all = state.rows.map((row, index) => ({ row, reason: state.decisions[index] }));
  if (!words) return all;
  return all.filter(({ row }) =>
    [row.filename, row.person, row.email, row.subject, row.serial, row.label].some((text) => text?.toLowerCase().includes(words)));
}

function showPicker() {
  const isServing = Boolean(state.phone?.provider.serving);
  showMissingProvider(isServing);
  const picker = isServing ? state.picker : null;
  for (const id of ["items", "crumbs"]) byID(id).hidden = !picker;
  byID("absent-box").hidden = !picker || picker.absentCount === 0;
  byID("more").hidden = true;
  showCode(picker);
  showChosen();
  if (!picker) {
    byID("problems").replaceChildren();
    return;
  }
  const crumbs = [make("button", { type: "button", class: "link", onclick: () => open("root") }, "All items")];
  if (picker.container !== "root") crumbs.push(make("span", {}, `› ${picker.container}`));
  if (picker.mechanism === "legacy") crumbs.splice(0, 1, make("span", {}, "The provider\u2019s list for these types"));
  byID("crumbs").replaceChildren(...crumbs);

  const rows = visibleRows();
  updateList(rows.slice(0, state.limit));
  byID("more").hidden = rows.length <= state.limit;
  byID("more").textContent = `Show more (${rows.length - state.limit} of ${rows.length})`;
  byID("absent-title").textContent = `Left out: ${picker.absentCount}`;
  byID("absent").replaceChildren(
    ...picker.absent.map(({ row, reason }) =>
      make("li", {}, itemButton(row, reason, () => explain(row, reason)))));
  byID("problems").replaceChildren(
    ...picker.problems.map((problem) => make("p", { class: "problem" }, problem.message, problem.hint ? ` Hint: ${problem.hint}` : "")));
  if (state.explained) {
    const index = state.rows.findIndex((row) => row.identifier === state.explained.identifier);
    const left = picker.absent.find(({ row }) => row.identifier === state.explained.identifier);
    if (index >= 0) explain(state.rows[index], state.decisions[index], false);
    else if (left) explain(left.row, left.reason, false);
  }
}

let listedKey = "";

/** Shows rows. Existing rows only change their state, so that a click stays fast with many rows. */
function updateList(rows) {
  const list = byID("items");
  const key = rows.map(({ row }) => row.identifier).join(" ");
  if (key === listedKey && list.childElementCount === rows.length) {
    rows.forEach(({ row, reason }, index) => {
      const button = list.children[index].firstElementChild;
      const decision = state.picker.reasons[reason];
      const isChosen = String(state.request.items.includes(row.identifier));
      if (button.dataset.state !== decision.state) {
        button.dataset.state = decision.state;
        if (row.kind !== "folder") button.children[2].textContent = stateWords[decision.state];
      }
      if (button.getAttribute("aria-pressed") !== isChosen) button.setAttribute("aria-pressed", isChosen);
    });
    return;
  }
  listedKey = key;
  list.replaceChildren(
    ...rows.map(({ row, reason }) => make("li", {}, itemButton(row, reason, (event) => choose(row, event)))));
}

function reasonOf(identifier) {
  const index = state.rows.findIndex((row) => row.identifier === identifier);
  return index < 0 ? null : state.decisions[index];
}

function open(container) {
  return ask({ container, items: [] }, { needsRows: true });
}

function choose(row, event) {
  byID("details-box").hidden = true;
  explain(row, reasonOf(row.identifier));
  if (row.kind === "folder") return open(row.identifier);
  const isMany = event.ctrlKey || event.metaKey || event.shiftKey;
  const chosen = state.request.items.includes(row.identifier);
  const others = isMany ? state.request.items.filter((item) => item !== row.identifier) : [];
  return ask({ items: chosen && (isMany || state.request.items.length === 1) ? others : [...others, row.identifier] }, { isNew: false });
}

function showChosen() {
  const { items } = state.request;
  const isServing = Boolean(state.phone?.provider.serving);
  byID("import").disabled = items.length === 0 || !isServing;
  byID("details").disabled = items.length !== 1 || !isServing || state.request.mechanism === "legacy";
  byID("chosen").textContent = items.length === 0 ? "nothing chosen" : items.length === 1 ? "1 item chosen" : `${items.length} items chosen`;
}

function explain(row, reason, isNew = true) {
  if (reason === null || reason === undefined) return;
  state.explained = { identifier: row.identifier };
  const decision = state.picker.reasons[reason];
  const children = [
    make("p", {}, make("strong", {}, row.filename), " ", make("span", { class: decision.state === "enabled" ? "ok" : "bad" }, stateWords[decision.state])),
    make("p", {}, `${decision.message.charAt(0).toUpperCase()}${decision.message.slice(1)}.`),
    make("p", { class: "soft" }, `Reason: ${decision.reason}`),
  ];
  if (decision.missing.length > 0) {
    const missing = decision.missing.filter((type) => !state.request.types.includes(type));
    children.push(make("p", {}, "This would change it:"));
    for (const type of missing) {
      children.push(make("p", {}, make("button", { type: "button", class: "advice", onclick: () => askAlso([type]) }, `Ask for ${type}`)));
    }
    if (missing.length > 1) {
      children.push(make("p", {}, make("button", { type: "button", class: "advice", onclick: () => askAlso(missing) }, "Ask for all of these")));
    }
  }
  byID("why").replaceChildren(...children);
  if (isNew) byID("why").scrollIntoView({ block: "nearest" });
}

function askAlso(types) {
  // An empty request means the plain type, which stays requested.
  const asked = state.request.types.length > 0 ? state.request.types : state.picker.requested;
  ask({ types: [...asked, ...types.filter((type) => !asked.includes(type))] });
}

function showMissingProvider(isServing) {
  const box = byID("no-provider");
  box.hidden = isServing;
  if (isServing || !state.phone) return;
  const { failure, command, process } = state.phone.provider;
  box.replaceChildren(
    make("p", {}, process ? `A provider is running, process ${process}, but does not answer the page.` : "No provider is running, so the picker has nothing to show."),
    failure ? make("p", {}, failure.message) : "",
    make("p", {}, "Start one in a terminal: ", make("code", {}, command)),
    process ? "" : make("button", { type: "button", class: "primary", id: "start-here", onclick: start }, "Start one here"));
}

function showCode(picker) {
  byID("command").textContent = picker ? `${picker.command}\n${picker.explainCommand}` : "";
  byID("swift").textContent = picker?.code?.swift ?? "";
  byID("objc").textContent = picker?.code?.objc ?? "";
}

async function showDetails() {
  const { item, entries } = await post("/api/details", { name: state.request.items[0] });
  const box = byID("details-box");
  box.hidden = false;
  box.replaceChildren(make("h3", {}, `Details of ${item.filename}`));
  for (const entry of entries) {
    if (entry.filename) box.append(make("p", {}, make("strong", {}, entry.filename)));
    if (entry.error) box.append(make("p", { class: "failure" }, entry.error.message));
    for (const certificate of entry.certificates) {
      box.append(table(Object.entries(certificate)
        .filter(([, value]) => value !== null && (typeof value !== "object" || (Array.isArray(value) && value.length > 0)))
        .map(([name, value]) => [name, Array.isArray(value) ? value.map((part) => typeof part === "object" ? JSON.stringify(part) : part).join(", ") : String(value)])));
    }
  }
}

function table(rows) {
  return make("table", {}, make("tbody", {}, ...rows.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)))));
}

// MARK: The phone

const lockWords = {
  unlocked: "unlocked", locked: "locked", "before-first-unlock": "restarted, not unlocked yet", "no-passcode": "without a passcode",
};

function showPhone() {
  const phone = state.phone;
  byID("summary").textContent = `Device ${lockWords[phone.state] ?? phone.state}; provider ${phone.provider.serving ? "running" : "not running"}; ${count(phone.published.count, "identity", "identities")} published, ${phone.held.count} imported`;
  byID("device-state").replaceChildren(
    make("strong", {}, lockWords[phone.state] ?? phone.state),
    make("span", {}, phone.pasteboard.owner ? `pasteboard: copied by ${phone.pasteboard.owner}` : phone.pasteboard.hasExpired ? "pasteboard: expired" : "pasteboard: empty"),
    make("span", {}, phone.folder));
  byID("lock").disabled = phone.state !== "unlocked" || !phone.hasPasscode;
  byID("unlock").disabled = phone.state === "unlocked" || phone.state === "no-passcode";
  byID("passcode").textContent = phone.hasPasscode ? "Remove passcode" : "Set passcode";
  byID("provider-app-words").textContent = `Provider: ${count(phone.published.count, "identity", "identities")}`;
  byID("consumer-app-words").textContent = `Consumer: ${count(phone.held.count, "identity", "identities")}`;
  showQuestions();
  showSide("published", "Provider", phone.published);
  showSide("held", "Consumer", phone.held);
  showImports();
  const { provider } = phone;
  const words = !provider.serving
    ? provider.process ? `A provider is running, process ${provider.process}, but does not answer the page.` : "No provider is running."
    : provider.isOwn
      ? `This page\u2019s provider serves, process ${provider.process}${provider.fault ? `, with the fault ${provider.fault}` : ""}.`
      : `A provider is running that this page did not start, process ${provider.process}. To choose a fault, stop it and start one here.`;
  byID("provider-state").textContent = words;
  byID("start").textContent = provider.isOwn ? "Start again with this fault" : "Start a provider";
  byID("start").disabled = Boolean(provider.process) && !provider.isOwn;
  byID("stop").disabled = !provider.isOwn;
  byID("presence").value = phone.presence.answer;
  for (const failure of phone.failures) tell(failure);
}

function count(number, one, many) {
  return `${number} ${number === 1 ? one : many}`;
}

let shownQuestions = "";

function showQuestions() {
  const { questions, presence } = state.phone;
  const key = JSON.stringify([questions, presence.waiting]);
  if (key === shownQuestions) return;
  shownQuestions = key;
  const alerts = questions.map((question) => {
    const answer = (allow) => () => act(() => post("/api/answer", { number: question.number, allow }));
    return make("div", { class: "alert", role: "alertdialog", "aria-label": "Paste" },
      make("p", {}, make("strong", {}, `${question.reader} would like to paste from ${question.owner}`)),
      make("p", {}, "Do you want to allow this?"),
      make("div", { class: "row" },
        make("button", { type: "button", onclick: answer(false), "data-answer": "deny" }, "Don\u2019t allow paste"),
        make("button", { type: "button", class: "primary", onclick: answer(true), "data-answer": "allow" }, "Allow paste")));
  });
  if (presence.waiting > 0) {
    const answer = (value) => () => act(() => post("/api/presence", { answer: value, waiting: true }));
    alerts.push(make("div", { class: "alert", role: "alertdialog", "aria-label": "User presence" },
      make("p", {}, make("strong", {}, "An app wants to use a key of the token.")),
      make("div", { class: "row" },
        make("button", { type: "button", onclick: answer("cancel"), "data-answer": "cancel" }, "Cancel"),
        make("button", { type: "button", onclick: answer("deny"), "data-answer": "deny" }, "Fail"),
        make("button", { type: "button", class: "primary", onclick: answer("allow"), "data-answer": "allow" }, "It is me"))));
  }
  byID("questions").replaceChildren(...alerts);
  alerts[0]?.querySelector("button")?.focus();
}

const shownSides = {};

function showSide(id, name, side) {
  const key = JSON.stringify(side);
  if (shownSides[id] === key) return;
  shownSides[id] = key;
  byID(`${id}-title`).textContent = `${name}: ${count(side.count, "identity", "identities")}`;
  const body = byID(id);
  if (side.failure) {
    body.replaceChildren(make("tbody", {}, make("tr", {}, make("td", { class: "failure" }, side.failure.message))));
    return;
  }
  const head = make("thead", {}, make("tr", {}, ...["Type", "Person", "Valid", "Serial"].map((title) => make("th", { scope: "col" }, title))));
  const rows = side.identities.map((identity) => make("tr", {},
    make("td", { class: "nowrap" }, identity.type), make("td", {}, ...breakable(identity.person ?? identity.subject ?? "")),
    make("td", { class: "dates" }, `${day(identity.notBefore)} – `, make("wbr"), day(identity.notAfter)),
    make("td", { class: "nowrap", title: identity.serial }, shorten(identity.serial, 13))));
  if (side.count > rows.length) rows.push(make("tr", {}, make("td", { colspan: "4" }, `and ${side.count - rows.length} more`)));
  body.replaceChildren(head, make("tbody", {}, ...rows));
}

let shownImports = "";

function showImports() {
  const jobs = [...state.phone.imports].reverse();
  const key = JSON.stringify(jobs);
  if (key === shownImports || jobs.length === 0) return;
  shownImports = key;
  byID("imports").replaceChildren(...jobs.map((job) => {
    const box = make("div", { class: "job", "data-job": String(job.number), "data-over": String(job.isOver) },
      make("p", {}, withShortLabels(`${job.mechanism}: ${job.items.join(", ")}`)));
    if (!job.isOver) box.append(make("p", {}, make("progress", { value: String(job.done), max: String(job.items.length), "aria-label": "Items imported" }), ` ${job.done} of ${job.items.length}`));
    for (const row of job.results) {
      const entry = row.entry ? ` (${row.entry})` : "";
      if (row.error) {
        box.append(make("p", { class: "failure", "data-status": row.status }, `${row.item}${entry}: ${row.error.message}`, row.error.hint ? ` — ${row.error.hint}` : ""));
      } else {
        box.append(make("p", { class: "ok", "data-status": row.status }, `${row.status}: ${row.type}, ${row.person ?? row.subject ?? ""}${entry}`));
      }
    }
    if (job.isOver) box.append(make("p", { class: "soft" }, withShortLabels(`exit code ${job.exitCode} of: ${job.command}`)));
    return box;
  }));
}

// MARK: The provider

function start() {
  return act(async () => {
    byID("provider-state").textContent = "Starting…";
    const [kind, name] = byID("fault").value.split(" ");
    await post("/api/provider/start", { [kind || "fault"]: name ?? null });
  });
}

function fillChoices() {
  const { faults, tokenFaults, scenarios } = state.session;
  const groups = [["fault", "of the service", faults], ["tokenFault", "of the token", tokenFaults]];
  byID("fault").replaceChildren(
    make("option", { value: "" }, "none"),
    ...groups.map(([kind, label, group]) =>
      make("optgroup", { label }, ...group.map(({ name }) => make("option", { value: `${kind} ${name}` }, name)))));
  byID("scenario").replaceChildren(...scenarios.map((scenario) => make("option", { value: scenario.name }, scenario.name)));
  const explainFault = () => {
    byID("fault-words").textContent = groups.flatMap(([kind, , group]) => group.map((fault) => [`${kind} ${fault.name}`, fault.explanation]))
      .find(([value]) => value === byID("fault").value)?.[1] ?? "The provider has no fault.";
  };
  const explainScenario = () => {
    byID("scenario-words").textContent = scenarios.find((scenario) => scenario.name === byID("scenario").value)?.explanation ?? "";
  };
  byID("fault").addEventListener("change", explainFault);
  byID("scenario").addEventListener("change", explainScenario);
  explainFault();
  explainScenario();
}

// MARK: The sequence

const lanes = [
  ["consumer", "Consumer"], ["os", "Picker/OS"], ["provider", "Provider"], ["service", "Password"],
  ["keychain", "Keychain"], ["pasteboard", "Pasteboard"], ["token", "Token"],
];
const widestLane = 150;
const narrowestLane = 84;
const rowHeight = 38;
const osRequests = ["enumerate", "item", "services", "startAccessing", "stopAccessing", "present", "choose", "identities", "describe"];
const legacyKinds = ["present", "choose", "pasteboardWritten", "pasteboardRead", "pasteboardCleared"];
const modernKinds = ["enumerate", "item", "services", "startAccessing", "fetchPassword", "passwordChanged"];
const requestWords = {
  hello: "connects", enumerate: "list", item: "item", services: "services of", startAccessing: "start accessing", read: "read",
  fetchPassword: "fetch password", stopAccessing: "stop accessing", present: "list for types", choose: "export", describe: "facts",
  identities: "whose", statistics: "figures",
};
const tokenWords = {
  tokens: "list tokens", tokenStatus: "status", tokenObjects: "list objects", use: "use key", useBegin: "begin to use key",
  useUpdate: "continue", useEnd: "end", useCancel: "cancel",
};

/** A text with its labels shortened. */
function withShortLabels(text) {
  return text.replace(/[0-9A-F]{64}/g, (label) => `${label.slice(0, 8)}…`);
}

function shorten(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function sizeWords(bytes) {
  return bytes >= 10240 ? `${Math.round(bytes / 1024)} KiB` : `${bytes} B`;
}

function timeWords(milliseconds) {
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(2)} s`;
  return milliseconds >= 1 ? `${milliseconds.toFixed(1)} ms` : `${Math.round(milliseconds * 1000)} µs`;
}

/** The lanes and the label of an event; null for an event that is not drawn. */
function picture(event) {
  const isBad = event.outcome !== "ok";
  const app = (subject) => (subject.includes("consumer") ? "consumer" : "provider");
  switch (event.kind) {
    case "opened": return null;
    case "closed":
      return event.message === "the peer closed" ? null : { note: "provider", label: `connection closed: ${event.message}`, isBad: true };
    case "deviceState": return { note: "os", label: `device ${lockWords[event.subject] ?? event.subject}` };
    case "passwordChanged": return { note: "service", label: "password replaced" };
    case "tokensChanged": return { note: "token", label: "tokens changed" };
    case "presenceAsked": return { from: "token", to: "os", label: "asks who is there" };
    case "presenceAnswered": return { from: "os", to: "token", label: "answer of the user" };
    case "serving": return { note: "provider", label: "provider serves" };
    case "stopped": return { note: "provider", label: "provider has ended" };
    case "lost": return { note: "provider", label: `${event.subject} events lost`, isBad: true };
    case "keychainAdded": return { from: event.subject, to: "keychain", label: `adds ${count(Number(event.message), "identity", "identities")}` };
    case "keychainRemoved": return { from: event.subject, to: "keychain", label: `removes ${count(Number(event.message), "identity", "identities")}` };
    case "pasteboardWritten": return { from: app(event.subject), to: "pasteboard", label: "copies" };
    case "pasteboardRead": return { from: "pasteboard", to: app(event.subject), label: isBad ? `paste ${event.outcome}` : "pastes", isBad };
    case "pasteboardCleared": return { note: "pasteboard", label: "cleared" };
  }
  const isToken = Object.hasOwn(tokenWords, event.kind);
  const from = event.client === "document picker" || osRequests.includes(event.kind) ? "os" : "consumer";
  const to = isToken ? "token" : event.kind === "fetchPassword" ? "service" : "provider";
  const words = tokenWords[event.kind] ?? requestWords[event.kind] ?? event.kind;
  const reply = isBad ? event.outcome : event.sent !== undefined ? sizeWords(event.sent) : "";
  return { from, to, label: event.subject ? `${words} ${event.subject}` : words, reply, time: event.duration, isBad };
}

/** The mechanism of each connection, if its requests show it. */
function connectionMechanisms(events) {
  const mechanisms = new Map();
  for (const event of events) {
    if (event.connection === undefined || event.connection === null) continue;
    if (event.kind === "present" || event.kind === "choose") mechanisms.set(event.connection, "legacy");
    else if (modernKinds.includes(event.kind) && !mechanisms.has(event.connection)) mechanisms.set(event.connection, "2025");
  }
  return mechanisms;
}

/** The events of a mechanism. Additions to a keychain belong to the mechanism of the request before them. */
function eventsOf(mechanism, events, connections) {
  let last = null;
  return events.filter((event) => {
    if (event.connection !== undefined && event.connection !== null) {
      const own = connections.get(event.connection);
      last = own ?? last;
      return (own ?? mechanism) === mechanism;
    }
    if (legacyKinds.includes(event.kind)) return mechanism === "legacy";
    if (modernKinds.includes(event.kind)) return mechanism === "2025";
    return event.kind === "keychainAdded" && last ? last === mechanism : true;
  });
}

function shownPosition() {
  return state.position ?? state.events.length;
}

function diagram(events, title, room) {
  const laneWidth = Math.min(widestLane, Math.max(narrowestLane, Math.floor((room - 74) / lanes.length)));
  const drawn = events.map((event) => ({ event, look: picture(event) })).filter(({ look }) => look).slice(-shownEvents);
  const [width, height] = [lanes.length * laneWidth + 70, 44 + Math.max(1, drawn.length) * rowHeight + 8];
  const x = (lane) => 70 + Math.max(0, lanes.findIndex(([name]) => name === lane)) * laneWidth + laneWidth / 2;
  const image = draw("svg", { class: "whole", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${count(drawn.length, "event", "events")}; the list below has them as text` });
  // The names of the lanes stay visible while scrolling; the diagram also contains them, for saved files.
  const heads = draw("svg", { class: "lanes", width, height: 38, "aria-hidden": "true" });
  heads.append(draw("rect", { class: "cover", x: 0, y: 0, width, height: 38 }));
  for (const [name, words] of lanes) {
    image.append(draw("line", { class: "life", x1: x(name), x2: x(name), y1: 36, y2: height - 4 }));
    for (const part of [image, heads]) {
      part.append(
        draw("rect", { class: "lane", x: x(name) - laneWidth / 2 + 3, y: 6, width: laneWidth - 6, height: 28, rx: 6 }),
        draw("text", { x: x(name), y: 25, "text-anchor": "middle" }, words));
    }
  }
  const origin = drawn[0]?.event.time ?? 0;
  drawn.forEach(({ event, look }, index) => {
    const y = 44 + index * rowHeight;
    const group = draw("g", { class: `event${look.isBad ? " bad" : ""}${event.number === state.current ? " current" : ""}`, "data-number": event.number });
    group.append(
      draw("rect", { class: "band", x: 0, y, width, height: rowHeight }),
      draw("text", { class: "small", x: 6, y: y + 24 }, `+${((event.time - origin) / 1000).toFixed(2)} s`));
    if (look.note) {
      const label = shorten(look.label, 44);
      const noteWidth = Math.min(width - 80, label.length * 6.4 + 16);
      const left = Math.min(Math.max(72, x(look.note) - noteWidth / 2), width - noteWidth - 4);
      group.append(
        draw("rect", { class: "note", x: left, y: y + 8, width: noteWidth, height: 22, rx: 4 }),
        draw("text", { x: left + noteWidth / 2, y: y + 23, "text-anchor": "middle" }, label));
    } else {
      const [start, end] = [x(look.from), x(look.to)];
      const side = Math.sign(end - start) || 1;
      const [left, span] = [Math.min(start, end), Math.abs(end - start)];
      const middle = left + span / 2;
      const reach = Math.max(span, 150);
      group.append(
        draw("line", { class: "arrow", x1: start, x2: end - side * 7, y1: y + 21, y2: y + 21 }),
        draw("path", { class: "head", d: `M${end} ${y + 21}l${-side * 9} -4v8z` }),
        draw("text", { x: middle, y: y + 15, "text-anchor": "middle" }, shorten(withShortLabels(look.label), Math.floor(reach / 6.2))));
      const facts = [look.reply, look.time === undefined || look.time === null ? "" : timeWords(look.time)].filter(Boolean).join(" · ");
      if (facts) group.append(draw("text", { class: "small", x: middle, y: y + 34, "text-anchor": "middle" }, facts));
    }
    group.addEventListener("click", () => select(event.number));
    image.append(group);
  });
  return [heads, image];
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

function drawSequence() {
  const events = state.events.slice(0, shownPosition());
  const isFollowing = state.position === null;
  const box = byID("diagrams");
  box.classList.toggle("side", state.isSide);
  const connections = connectionMechanisms(state.events);
  const parts = state.isSide
    ? ["2025", "legacy"].map((mechanism) => [`Sequence of ${mechanism}`, eventsOf(mechanism, events, connections)])
    : [["Sequence", events]];
  const scrolls = [...box.children].map((child) => [child.scrollTop, child.scrollLeft]);
  box.replaceChildren(...parts.map(([title, part]) => {
    const frame = make("div", { class: "diagram", tabindex: "0", role: "region", "aria-label": title });
    const isSplit = state.isSide && box.clientWidth > 1000;
    frame.append(...diagram(part, title, isSplit ? box.clientWidth / 2 - 12 : box.clientWidth || 900));
    frame.addEventListener("keydown", (event) => walk(event, part));
    return state.isSide ? make("div", {}, make("h3", {}, title), frame) : frame;
  }));
  [...box.querySelectorAll(".diagram")].forEach((frame, index) => {
    frame.scrollLeft = scrolls[index]?.[1] ?? 0;
    const current = frame.querySelector(".current");
    if (isFollowing) frame.scrollTop = frame.scrollHeight;
    else if (current) frame.scrollTop = Math.max(0, current.getBBox().y - frame.clientHeight + 80);
  });
  const list = byID("event-list");
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.number : null;
  const drawn = events.filter(picture).slice(-shownEvents);
  list.replaceChildren(...drawn.map((event) => make("li", {},
    make("button", { type: "button", class: "link", "data-number": String(event.number), onclick: () => select(event.number) }, sentence(event)))));
  // A new event must not move the keyboard focus out of the list.
  if (focused) list.querySelector(`[data-number="${focused}"]`)?.focus();
  byID("position").textContent = state.events.length === 0
    ? "Nothing has happened yet."
    : `${state.position === null ? "Live" : "Paused"}: ${shownPosition()} of ${count(state.events.length, "event", "events")}`;
  byID("pause").setAttribute("aria-pressed", String(state.position !== null));
  byID("pause").textContent = state.position === null ? "Pause" : "Continue";
  byID("back").disabled = shownPosition() === 0;
  byID("forward").disabled = state.position === null || state.position >= state.events.length;
  byID("lost").hidden = state.lost === 0;
  byID("lost").textContent = `${count(state.lost, "event was", "events were")} lost, because this page was too slow.`;
}

function sentence(event) {
  const look = picture(event);
  if (!look) return `${event.kind} ${event.message}`;
  if (look.note) return look.label;
  const name = (lane) => lanes.find(([id]) => id === lane)?.[1] ?? lane;
  return `${name(look.from)} to ${name(look.to)}: ${look.label}${look.reply ? `, ${look.reply}` : ""}${look.isBad && event.message ? `, ${event.message}` : ""}`;
}

function select(number) {
  state.current = number;
  const event = state.events.find((candidate) => candidate.number === number);
  if (!event) return;
  const rows = [["event", sentence(event)], ["time", new Date(event.time).toISOString()]];
  if (event.duration !== undefined && event.duration !== null) rows.push(["answered in", timeWords(event.duration)]);
  if (event.subject) rows.push(["about", event.subject]);
  if (event.client) rows.push(["asked by", `${event.client}, process ${event.process}, connection ${event.connection}`]);
  if (event.received !== undefined && event.received !== null) rows.push(["request", sizeWords(event.received)], ["answer", sizeWords(event.sent)]);
  rows.push(["outcome", event.outcome]);
  if (event.message) rows.push(["message", event.message]);
  byID("event").replaceChildren(table(rows));
  for (const group of document.querySelectorAll("svg .event")) group.classList.toggle("current", group.dataset.number === String(number));
}

/** Selects the next or the previous of these events with the arrow keys, and returns its number. */
function walk(key, events) {
  const change = { ArrowDown: 1, ArrowUp: -1 }[key.key];
  if (!change) return null;
  key.preventDefault();
  const drawn = events.filter(picture).slice(-shownEvents);
  const index = drawn.findIndex((event) => event.number === state.current);
  const next = drawn[index < 0 ? (change > 0 ? 0 : drawn.length - 1) : Math.min(Math.max(index + change, 0), drawn.length - 1)];
  if (!next) return null;
  select(next.number);
  document.querySelector(`svg .event[data-number="${next.number}"]`)?.scrollIntoView({ block: "nearest" });
  return next.number;
}

function step(change) {
  const target = Math.min(Math.max(shownPosition() + change, 0), state.events.length);
  state.position = target;
  const event = state.events[target - 1];
  state.current = event?.number ?? null;
  drawSequence();
  if (event) select(event.number);
}

/** Skips events that are not drawn, so that each click shows one event more or less. */
function stepDrawn(change) {
  const countDrawn = () => state.events.slice(0, shownPosition()).filter(picture).length;
  const before = countDrawn();
  do {
    step(change);
  } while (countDrawn() === before && shownPosition() > 0 && shownPosition() < state.events.length);
}

function takeEvent(event) {
  if (event.number > state.lastNumber + 1 && state.lastNumber > 0) state.lost += event.number - state.lastNumber - 1;
  if (event.number <= state.lastNumber) return;
  state.lastNumber = event.number;
  // Events of the device arrive before requests of the same time, because the provider batches its events.
  let place = state.events.length;
  while (place > Math.max(0, state.events.length - 100) && state.events[place - 1].time > event.time) place -= 1;
  state.events.splice(place, 0, event);
  if (state.position !== null && place < state.position) state.position += 1;
  if (state.events.length > keptEvents) {
    const extra = state.events.length - keptEvents;
    state.events.splice(0, extra);
    if (state.position !== null) state.position = Math.max(0, state.position - extra);
  }
  drawSoon();
}

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
  const back = draw("rect", { x: 0, y: 0, width: "100%", height: "100%", fill: getComputedStyle(image.parentElement).backgroundColor });
  copy.prepend(back);
  return new XMLSerializer().serializeToString(copy);
}

function recordingText() {
  return JSON.stringify({ format: "keyshare-recording", version: 1, events: state.events }, null, 1);
}

function play() {
  if (state.playing) {
    clearTimeout(state.playing);
    state.playing = null;
    byID("play").textContent = "Play";
    return;
  }
  if (shownPosition() >= state.events.length) state.position = 0;
  byID("play").textContent = "Stop";
  const next = () => {
    const before = state.events[shownPosition() - 1];
    stepDrawn(1);
    const after = state.events[shownPosition() - 1];
    if (shownPosition() >= state.events.length) {
      state.playing = null;
      byID("play").textContent = "Play";
      return;
    }
    state.playing = setTimeout(next, Math.min(700, Math.max(60, before && after ? after.time - before.time : 0)));
  };
  state.playing = setTimeout(next, 60);
}

// MARK: Start

let isLoading = false;
let mustLoad = false;
let generation = null;

/** Loads the state, once for several changes in a row. */
async function loadState() {
  if (isLoading) {
    mustLoad = true;
    return;
  }
  isLoading = true;
  try {
    do {
      mustLoad = false;
      const wasServing = state.phone?.provider.serving;
      state.phone = await get("/api/state");
      showPhone();
      if (state.phone.generation !== generation || wasServing !== state.phone.provider.serving) {
        generation = state.phone.generation;
        await loadPicker(true);
      }
    } while (mustLoad);
  } catch (error) {
    tell(error);
  } finally {
    isLoading = false;
  }
}

function listen() {
  const source = new EventSource("/api/events");
  source.addEventListener("message", (message) => takeEvent(JSON.parse(message.data)));
  source.addEventListener("state", () => loadState());
  source.addEventListener("error", () => {
    byID("summary").textContent = "The connection to keyshare-device web is gone; trying again…";
  });
  source.addEventListener("open", () => loadState());
}

function bindSequence() {
  byID("pause").addEventListener("click", () => {
    state.position = state.position === null ? state.events.length : null;
    drawSequence();
  });
  byID("back").addEventListener("click", () => stepDrawn(-1));
  byID("forward").addEventListener("click", () => stepDrawn(1));
  byID("play").addEventListener("click", play);
  byID("clear").addEventListener("click", () => {
    state.events = [];
    state.lost = 0;
    state.position = null;
    drawSequence();
  });
  byID("side").addEventListener("change", (event) => {
    state.isSide = event.target.checked;
    document.querySelector("main").classList.toggle("side", state.isSide);
    drawSequence();
  });
  byID("event-list").addEventListener("keydown", (event) => {
    const number = walk(event, state.events.slice(0, shownPosition()));
    if (number !== null) byID("event-list").querySelector(`[data-number="${number}"]`)?.focus();
  });
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

function bindPhone() {
  for (const action of ["lock", "unlock", "restart"]) byID(action).addEventListener("click", () => act(() => post("/api/device", { action })));
  byID("passcode").addEventListener("click", () => act(() => post("/api/device", { action: state.phone.hasPasscode ? "remove-passcode" : "set-passcode" })));
  byID("import").addEventListener("click", () => act(() => post("/api/import", state.request)));
  byID("details").addEventListener("click", () => act(showDetails));
  for (const app of ["provider-app", "consumer-app"]) {
    byID(app).addEventListener("click", () => {
      byID("keychains").scrollIntoView({ block: "nearest" });
      byID(app === "provider-app" ? "published-title" : "held-title").focus();
    });
  }
  byID("more").addEventListener("click", () => {
    state.limit += shownRows;
    showPicker();
  });
  byID("filter").addEventListener("input", () => showPicker());
  for (const radio of document.querySelectorAll("input[name=mechanism]")) {
    radio.addEventListener("change", () => {
      state.explained = null;
      state.rows = [];
      const presets = state.session.types[radio.value].presets;
      ask({ mechanism: radio.value, types: presets[0].types, container: "root", items: [] }, { needsRows: true });
    });
  }
  byID("preset").addEventListener("change", (event) => {
    const preset = state.session.types[state.request.mechanism].presets[Number(event.target.value)];
    if (event.target.value !== "" && preset) ask({ types: preset.types });
  });
  byID("start").addEventListener("click", start);
  byID("stop").addEventListener("click", () => act(() => post("/api/provider/stop")));
  byID("provision").addEventListener("click", () => act(async () => {
    byID("provision").disabled = true;
    try {
      await post("/api/provision", { scenario: byID("scenario").value, replacing: byID("replacing").checked });
    } finally {
      byID("provision").disabled = false;
    }
  }));
  byID("presence").addEventListener("change", (event) => act(() => post("/api/presence", { answer: event.target.value, waiting: false })));
  byID("clear-consumer").addEventListener("click", () => act(() => post("/api/consumer/clear")));
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => act(async () => {
      await navigator.clipboard.writeText(byID(button.dataset.copy).textContent);
      const words = button.textContent;
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = words; }, 1500);
    }));
  }
  addEventListener("popstate", () => {
    readAddress();
    showRequest();
    act(() => loadPicker(true));
  });
}

async function begin() {
  bindSequence();
  state.session = await get("/api/session");
  if (state.session.isReplay) {
    const recording = await get("/api/recording");
    state.events = recording.events;
    state.position = 0;
    document.querySelector("main").classList.add("replay");
    byID("play").hidden = false;
    byID("pause").hidden = true;
    byID("clear").hidden = true;
    byID("save-json").hidden = true;
    byID("summary").textContent = `A recording of ${count(state.events.length, "event", "events")}; no device is attached.`;
    drawSequence();
    return;
  }
  readAddress();
  if (location.hash.length < 2) state.request.types = state.session.types["2025"].presets[0].types;
  for (const part of document.querySelectorAll("[data-live]")) part.hidden = false;
  fillChoices();
  bindPhone();
  showRequest();
  writeAddress(false);
  drawSequence();
  listen();
}

begin().catch(tell);
