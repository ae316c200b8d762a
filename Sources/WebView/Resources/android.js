// The Android phone: the entries of KeyChain, the app's requests, and the user's decisions about apps.

import { button, byID, count, day, icon, make, sentence, shortSerial, shorten } from "./dom.js";
import { act, announce, post, state } from "./server.js";
import { confirmed, isNarrow } from "./layout.js";
import { appName } from "./dialogs.js";

/** The app for which the page sends requests. */
const ownApp = "red.hound.keyshare.consumer";
const permissionWords = { granted: "allowed", denied: "denied", undecided: "not asked yet" };
const decisions = [["ask", "ask", "undecided"], ["allow", "allow", "granted"], ["deny", "deny", "denied"]];

/** The alias whose explanation is shown, or null. */
let explained = null;
let closedRequest = 0;
const shown = {};

/** Runs `draw` if the value has changed since the last time, so that the focus and the selection remain. */
function ifChanged(name, value, draw) {
  const key = JSON.stringify(value);
  if (shown[name] === key) return;
  shown[name] = key;
  draw();
}

export function showAndroid() {
  const { android, presence, provider } = state.phone;
  const own = android.apps.find((app) => app.app === ownApp);
  byID("app-facts").textContent = `${ownApp}, READ_ALIAS ${permissionWords[own?.readAlias ?? "undecided"]}, ${count(own?.keyGrants.length ?? 0, "key grant", "key grants")}`;
  byID("prompts-notice").hidden = presence.answer === "ask";
  byID("prompts-words").textContent = `Every prompt is answered with “${presence.answer}”.`;
  for (const id of ["query", "query-here", "choose"]) byID(id).disabled = !provider.serving;
  byID("install").disabled = state.phone.published.count === 0;
  byID("install-here").hidden = state.phone.published.count === 0;
  byID("reset-aliases").disabled = android.count === 0;
  ifChanged("entries", [android.entries, android.apps, android.count, android.failure, explained, provider.serving], () => showEntries(android));
  ifChanged("apps", android.apps, () => showApps(android.apps));
  ifChanged("requests", [android.requests, closedRequest], () => showRequests(android.requests));
  ifChanged("aliases", android.entries.map((entry) => entry.alias), () => fillAliases(android.entries));
}

// MARK: Entries

function showEntries(android) {
  const focused = document.activeElement?.closest("#aliases .item")?.dataset.id;
  byID("alias-count").textContent = android.failure ? "" : count(android.count, "entry", "entries");
  byID("no-aliases").hidden = android.count > 0 || Boolean(android.failure);
  byID("aliases").replaceChildren(
    ...(android.failure ? [make("li", { class: "failure" }, sentence(android.failure.message))] : []),
    ...android.entries.map((entry) => make("li", {}, entryButton(entry, android.apps), entry.alias === explained ? explanation(entry, android.apps) : null)),
    ...(android.count > android.entries.length ? [make("li", { class: "soft rest" }, `The page shows the first ${android.entries.length} of ${android.count}.`)] : []));
  if (focused) byID("aliases").querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

const grantedApps = (entry, apps) => apps.filter((app) => app.keyGrants.includes(entry.alias));

function entryButton(entry, apps) {
  const grants = grantedApps(entry, apps).length;
  const warnings = entry.classification.aliasWarnings.length;
  const facts = [entry.classification.aliasType, `expires ${day(entry.notAfter)}`, grants > 0 ? count(grants, "grant", "grants") : ""].filter(Boolean);
  return make("button",
    { type: "button", class: "item", "data-id": entry.alias, "aria-expanded": String(entry.alias === explained), onclick: () => explain(entry) },
    icon("pkcs12"),
    make("span", { class: "lines" }, make("span", { class: "name" }, entry.alias), make("span", { class: "sub" }, ...facts.flatMap((fact, place) => [place > 0 ? " · " : "", make("span", { class: "fact" }, fact)]))),
    warnings > 0 ? make("span", { class: "tag" }, count(warnings, "warning", "warnings")) : null);
}

function explain(entry) {
  explained = explained === entry.alias ? null : entry.alias;
  showAndroid();
  if (explained === null) return;
  const { aliasType, aliasBecause } = entry.classification;
  announce(`${entry.alias}: ${aliasType}, because ${aliasBecause}.`);
  const box = byID("aliases").querySelector(".why");
  if (!isNarrow() && byID("aliases").contains(box)) box.scrollIntoView({ block: "nearest" });
}

/** Why an entry has its type, what key sharing calls it, and which apps may use its key. */
function explanation(entry, apps) {
  const { classification } = entry;
  const granted = grantedApps(entry, apps);
  const person = entry.person ?? entry.subject;
  return make("div", { class: "why enabled" },
    make("p", {}, make("strong", {}, classification.aliasType), make("span", { class: "soft" }, ` (${classification.aliasRule})`)),
    make("p", {}, sentence(classification.aliasBecause)),
    make("p", {}, `Its type under key sharing 2025 is ${classification.type}: ${sentence(classification.because).replace(/^./, (letter) => letter.toLowerCase())}`),
    ...classification.aliasWarnings.map((warning) => make("p", { class: "failure", "data-warning": warning.code }, sentence(warning.message))),
    make("p", { class: "soft" }, [person, entry.keyType, `${day(entry.notBefore)} to ${day(entry.notAfter)}`, shortSerial(entry.serial),
      classification.nameOrder.length > 0 ? `names: ${classification.nameOrder.join(", ")}` : "no names"].join(" · ")),
    granted.length === 0 ? make("p", {}, "No app may use this key.") : null,
    ...granted.map((app) => grantRow(`${appName(app.app)} may use this key.`, app.app, entry.alias)),
    make("div", { class: "row" }, button("Choose this key", () => act(() => post("/api/aliases/choose", { alias: entry.alias })), { class: "primary choose-this" })));
}

function grantRow(words, app, alias) {
  return make("div", { class: "grant" }, make("span", {}, words),
    button("Revoke", () => act(() => post("/api/aliases/revoke", { app, alias })), { "aria-label": `Revoke the key grant of ${appName(app)} for ${alias}`, "data-revoke": alias }));
}

// MARK: Apps

function showApps(apps) {
  const focused = document.activeElement?.closest("#apps")?.contains(document.activeElement) ? document.activeElement.id : null;
  byID("apps").replaceChildren(...apps.map((app, index) => {
    const list = make("select", { id: `permission-${index}`, "data-app": app.app },
      ...decisions.map(([value, words, permission]) => make("option", { value, selected: permission === app.readAlias }, words)));
    list.addEventListener("change", () => act(() => post("/api/aliases/permission", { app: app.app, permission: list.value })));
    return make("section", { class: "app", "aria-label": appName(app.app) },
      make("h3", {}, appName(app.app)), make("p", { class: "soft" }, app.app),
      make("label", { class: "field" }, make("span", {}, "Permission READ_ALIAS"), list),
      make("p", { class: "soft" }, app.keyGrants.length === 0 ? "No key grant." : "Key grants:"),
      ...app.keyGrants.map((alias) => grantRow(alias, app.app, alias)));
  }));
  if (focused) byID(focused)?.focus({ preventScroll: true });
}

// MARK: Requests of the app

function fillAliases(entries) {
  const list = byID("wanted");
  const value = list.options.length === 0 ? "for signing" : list.value;
  const purposes = ["signing", "authentication", "decryption", "device"];
  list.replaceChildren(
    make("option", { value: "" }, "none"),
    make("optgroup", { label: "Recommended" }, ...purposes.map((purpose) => make("option", { value: `for ${purpose}` }, `for ${purpose}`))),
    make("optgroup", { label: "An alias" }, ...entries.map((entry) => make("option", { value: `alias ${entry.alias}` }, entry.alias))));
  list.value = [...list.options].some((option) => option.value === value) ? value : "for signing";
}

function query() {
  const columns = [...byID("columns").querySelectorAll("input:checked")].map((box) => box.value);
  return act(() => post("/api/aliases/query", { columns }));
}

function choose() {
  const wanted = byID("wanted").value;
  const [host, port] = byID("host").value.trim().split(/:(?=\d+$)/);
  return act(() => post("/api/aliases/choose", {
    alias: wanted.startsWith("alias ") ? wanted.slice(6) : null,
    purpose: wanted.startsWith("for ") ? wanted.slice(4) : null,
    keyTypes: byID("key-type").value ? [byID("key-type").value] : [],
    host: host || null,
    port: host && port ? Number(port) : null,
  }));
}

/** The errors that a button of the page resolves, and what the button does before the request is sent again. */
const remedies = {
  "permission-denied": ["Ask for the permission again", () => post("/api/aliases/permission", { app: ownApp, permission: "ask" })],
  "device-locked": ["Unlock and try again", () => post("/api/device", { action: "unlock" })],
  "provider-not-running": ["Start a provider and try again", () => post("/api/provider/start", {})],
};

function requestBox(request) {
  const { failure, isOver } = request;
  const title = !isOver
    ? request.kind === "query" ? "Querying…" : "Choosing…"
    : failure ? request.kind === "query" ? "The query failed" : "No key was chosen"
      : request.kind === "query" ? `${count(request.count, "row", "rows")} of ${request.columns.join(", ")}` : `${count(request.aliases.length, "key", "keys")} granted`;
  const box = make("div", { class: "job", "data-request": String(request.number), "data-over": String(isOver) },
    make("p", { class: failure ? "bad" : "ok" }, make("strong", {}, title)));
  for (const alias of request.aliases) box.append(make("p", {}, alias));
  if (failure) {
    const [words, prepare] = remedies[failure.code] ?? ["Try again", null];
    box.append(make("div", { class: "failure", role: "group", "aria-label": "Error of the request" },
      make("p", {}, sentence(failure.message)), make("p", { class: "soft" }, failure.code),
      button(words, () => act(async () => {
        if (prepare) await prepare();
        await post(`/api/aliases/${request.kind}`, request.again);
      }), { class: "primary remedy" })));
  }
  if (isOver) {
    const rows = request.rows.map((row) => make("li", {}, row.map((value) => shorten(value, 60)).join(" · ")));
    const rest = request.count > rows.length ? [make("li", { class: "soft" }, `and ${request.count - rows.length} more`)] : [];
    box.append(make("details", {}, make("summary", {}, "Details"), make("ul", {}, ...rows, ...rest), make("p", { class: "soft" }, make("code", {}, request.command))));
  }
  return box;
}

function showRequests(requests) {
  const latest = requests.at(-1);
  const isShown = latest && latest.number !== closedRequest;
  const box = byID("alias-result");
  const isNewlyOver = isShown && latest.isOver && box.firstElementChild?.dataset.over !== "true";
  box.hidden = !isShown;
  box.replaceChildren(...(isShown ? [requestBox(latest), button("×", () => {
    closedRequest = latest.number;
    showAndroid();
    byID("query-here").focus();
  }, { class: "close", "aria-label": "Close the result" })] : []));
  if (isNewlyOver) announce([...box.querySelectorAll(".job > p")].map((line) => line.textContent).join(", "));
}

export function bindAndroid() {
  byID("query").addEventListener("click", query);
  byID("query-here").addEventListener("click", query);
  byID("choose").addEventListener("click", choose);
  for (const id of ["install", "install-here"]) byID(id).addEventListener("click", () => act(() => post("/api/aliases/install")));
  byID("ask-me").addEventListener("click", () => act(() => post("/api/presence/set", { answer: "ask" })));
  byID("reset-aliases").addEventListener("click", () => act(async () => {
    const isConfirmed = await confirmed(
      "Reset Purebred?", `This removes ${count(state.phone.android.count, "entry", "entries")} of KeyChain with all key grants. The provider keeps its identities.`, "Reset");
    if (isConfirmed) await post("/api/aliases/reset");
  }));
}

// MARK: The choice of the phone

/** Shows the parts of the chosen phone. */
export function showPlatform() {
  document.body.dataset.phone = state.platform;
  for (const radio of document.querySelectorAll("input[name=phone]")) radio.checked = radio.value === state.platform;
  byID("tab-keychains").textContent = state.platform === "android" ? "Apps" : "Keychains";
  if (state.platform === "android" && byID("side").checked) byID("side").click();
}
