// The phone around the picker: lock state and results of imports; and the provider's settings.

import { button, byID, capitalized, count, icon, identities, make, sentence, withShortLabels } from "./dom.js";
import { act, announce, post, state, tell } from "./server.js";
import { confirmed } from "./layout.js";
import { itemName } from "./picker.js";
import { showSide } from "./keychains.js";
import { showAndroid } from "./android.js";
import { showQuestions } from "./dialogs.js";

export const lockWords = {
  unlocked: "Unlocked", locked: "Locked", "before-first-unlock": "Restarted, not unlocked yet", "no-passcode": "No passcode",
};

export function showPhone() {
  const { phone } = state;
  const { provider } = phone;
  const isAndroid = state.platform === "android";
  const isLocked = phone.state === "locked" || phone.state === "before-first-unlock";
  byID("summary").textContent = `Device ${(lockWords[phone.state] ?? phone.state).toLowerCase()}; provider ${provider.serving ? "running" : "not running"}; ${isAndroid ? `${count(phone.android.count, "alias", "aliases")} in KeyChain` : `${identities(phone.published.count)} published, ${phone.held.count} imported`}`;
  byID("lock-state").replaceChildren(icon(isLocked ? "locked" : "unlocked"), make("span", {}, lockWords[phone.state] ?? phone.state));
  // Keys of KeyChain remain available while a phone is locked, once it was unlocked after its start.
  byID("locked-notice").hidden = isAndroid ? phone.state !== "before-first-unlock" : !isLocked;
  byID("lock").disabled = phone.state !== "unlocked" || !phone.hasPasscode;
  byID("unlock").disabled = !isLocked;
  byID("passcode").textContent = phone.hasPasscode ? "Remove passcode…" : "Set passcode";
  byID("passcode").classList.toggle("danger", phone.hasPasscode);
  byID("device-facts").textContent = `${phone.pasteboard.owner ? `Pasteboard: copied by ${phone.pasteboard.owner}` : phone.pasteboard.hasExpired ? "Pasteboard: expired" : "Pasteboard: empty"}. Folder: ${phone.folder}`;
  showClock();
  showQuestions();
  showSide("published", "Provider", phone.published);
  showSide("held", "Consumer", phone.held);
  byID("clear-consumer").disabled = phone.held.count === 0 && !phone.held.failure;
  showImports();
  showProvider();
  showMissingProvider();
  showAndroid();
  for (const failure of phone.failures) tell(failure);
}

function showClock() {
  byID("clock").textContent = new Date().toTimeString().slice(0, 5);
}

// MARK: Results of imports

/** The error that a button of the page resolves, and what the button does before the import runs again. */
const remedies = {
  "device-locked": ["Unlock and try again", () => post("/api/device", { action: "unlock" })],
  errSecInteractionNotAllowed: ["Unlock and try again", () => post("/api/device", { action: "unlock" })],
  "paste-denied": ["Ask again", null],
};

/** The button for an import's error: the error's own remedy, the provider without its fault, or another try. */
function remedy(job, code) {
  const { provider } = state.phone;
  const known = remedies[code]
    ?? (provider.isOwn && provider.fault ? ["Restart without the fault", () => post("/api/provider/start", { fault: null })]
      : !provider.process ? ["Start a provider and try again", () => post("/api/provider/start", { fault: null })] : ["Try again", null]);
  const [words, prepare] = known;
  const again = { mechanism: job.mechanism, types: job.types, items: job.items };
  return button(words, () => act(async () => {
    if (prepare) await prepare();
    await post("/api/import", again);
  }), { class: "primary remedy" });
}

/** The errors of an import, each once, with the items that have it. */
function errorsOf(job) {
  const errors = new Map();
  for (const row of job.results.filter((each) => each.error)) {
    const own = errors.get(row.error.message) ?? { ...row.error, names: [] };
    own.names.push(row.entry ?? itemName(row.item));
    errors.set(row.error.message, own);
  }
  return [...errors.values()];
}

/** The hint of a command, unless the page's own button does the same. */
function hintOf(error) {
  return error.hint && !remedies[error.code] ? make("p", { class: "soft" }, `Hint: ${error.hint}`) : null;
}

function jobBox(job) {
  const imported = job.results.filter((row) => row.status === "imported");
  const present = job.results.filter((row) => row.status === "duplicate");
  const errors = errorsOf(job);
  const facts = [
    imported.length > 0 ? `${identities(imported.length)} imported` : "",
    present.length > 0 ? `${identities(present.length)} already in the keychain` : "",
    errors.length > 0 ? `${count(errors.reduce((sum, error) => sum + error.names.length, 0), "error", "errors")}` : "",
  ].filter(Boolean).join(", ");
  const title = job.isOver ? facts || "Nothing was imported" : `Importing ${count(job.items.length, "item", "items")}…`;
  const box = make("div", { class: "job", "data-job": String(job.number), "data-over": String(job.isOver) },
    make("p", { class: errors.length > 0 ? "bad" : "ok" }, make("strong", {}, title), ` · ${job.mechanism}`));
  if (!job.isOver) box.append(make("progress", { value: String(job.done), max: String(job.items.length), "aria-label": "Imported items" }));
  if (errors.length > 0) {
    box.append(make("div", { class: "failure", role: "group", "aria-label": "Error of the import" },
      ...errors.flatMap((error) => [
        make("p", { "data-status": "failed" }, sentence(error.message)), hintOf(error),
        make("p", { class: "soft names" }, error.names.length > 1 ? `Affects ${error.names.length} files.` : `Affects ${withShortLabels(error.names[0])}.`),
      ].filter(Boolean)),
      ...(job.isOver ? [remedy(job, errors[0].code)] : [])));
  }
  const rows = [...imported, ...present].map((row) =>
    make("li", { "data-status": row.status }, `${capitalized(row.type)}, ${row.person ?? row.subject ?? ""}${row.entry ? ` (${row.entry})` : ""}`));
  if (job.isOver) {
    box.append(make("details", {}, make("summary", {}, `Details, exit code ${job.exitCode}`),
      make("ul", {}, ...rows), make("p", { class: "soft" }, make("code", {}, withShortLabels(job.command)))));
  }
  return box;
}

let shownImports = "";
let closedJob = 0;

/** Shows the latest import on the phone, and the earlier ones below it. */
function showImports() {
  const jobs = [...state.phone.imports].reverse();
  const latest = jobs[0] && jobs[0].number !== closedJob ? jobs[0] : null;
  const key = JSON.stringify([jobs, closedJob]);
  if (key === shownImports || jobs.length === 0) return;
  shownImports = key;
  const isNewlyOver = latest?.isOver && byID("result").firstElementChild?.dataset.over !== "true";
  byID("result").hidden = !latest;
  byID("result").replaceChildren(...(latest ? [jobBox(latest), button("×", () => {
    closedJob = latest.number;
    showImports();
    byID("import").focus();
  }, { class: "close", "aria-label": "Close the result" })] : []));
  if (isNewlyOver) announce(`Import: ${byID("result").querySelector(".job > p").textContent}`);
  const earlier = jobs.filter((job) => job !== latest);
  byID("earlier").hidden = earlier.length === 0;
  byID("earlier-title").textContent = `Earlier imports: ${earlier.length}`;
  byID("imports").replaceChildren(...earlier.map(jobBox));
}

// MARK: The provider

function showProvider() {
  const { provider, presence } = state.phone;
  byID("provider-state").textContent = !provider.serving
    ? provider.process ? `A provider is running, process ${provider.process}, but does not respond to this page.` : "No provider is running."
    : provider.isOwn
      ? `The provider of this page is running, process ${provider.process}${provider.fault ? `, with the fault ${provider.fault}` : ""}.`
      : `A provider that another program started is running, process ${provider.process}. To choose a fault, stop it and start one here.`;
  byID("start").textContent = provider.isOwn ? "Restart with this fault" : "Start a provider";
  byID("start").disabled = Boolean(provider.process) && !provider.isOwn;
  byID("stop").disabled = !provider.isOwn;
  byID("presence").value = presence.answer;
}

function showMissingProvider() {
  const { serving, failure, command, process } = state.phone.provider;
  const box = byID("no-provider");
  box.hidden = serving;
  if (serving) return;
  box.replaceChildren(
    make("p", {}, make("strong", {}, process ? `A provider is running, process ${process}, but does not respond to this page.` : state.platform === "android" ? "No provider is running, so apps cannot query aliases." : "No provider is running, so the picker is empty.")),
    failure ? make("p", {}, sentence(failure.message)) : "",
    process ? "" : button("Start a provider", start, { class: "primary", id: "start-here" }),
    make("p", { class: "soft" }, "Or start one in a terminal: ", make("code", {}, command)));
}

function start() {
  return act(async () => {
    byID("provider-state").textContent = "Starting…";
    const [kind, name] = byID("fault").value.split(" ");
    await post("/api/provider/start", { [kind || "fault"]: name ?? null });
  });
}

async function provision() {
  const scenario = byID("scenario").value;
  const replacing = byID("replacing").checked;
  if (replacing && state.phone.published.count > 0 && !await confirmed(
    "Replace the provider’s identities?",
    `This deletes ${identities(state.phone.published.count)} of the provider and generates those of ${scenario}.`, "Replace")) return;
  byID("provision").disabled = true;
  try {
    await post("/api/provision", { scenario, replacing });
  } finally {
    byID("provision").disabled = false;
  }
}

async function changePasscode() {
  const { hasPasscode } = state.phone;
  if (hasPasscode && !await confirmed(
    "Remove the passcode?", "The device deletes every keychain item that needs a passcode.", "Remove passcode")) return;
  await post("/api/device", { action: hasPasscode ? "remove-passcode" : "set-passcode" });
}

export function fillChoices() {
  const { faults, tokenFaults, aliasFaults, scenarios } = state.session;
  const groups = [["fault", "Faults of the service", faults], ["tokenFault", "Faults of the token", tokenFaults], ["aliasFault", "Faults of alias sharing", aliasFaults]];
  byID("fault").replaceChildren(
    make("option", { value: "" }, "none"),
    ...groups.map(([kind, label, group]) =>
      make("optgroup", { label }, ...group.map(({ name }) => make("option", { value: `${kind} ${name}` }, name)))));
  byID("scenario").replaceChildren(...scenarios.map((scenario) => make("option", { value: scenario.name }, scenario.name)));
  const explainFault = () => {
    const known = groups.flatMap(([kind, , group]) => group.map((fault) => [`${kind} ${fault.name}`, fault.explanation]));
    byID("fault-words").textContent = known.find(([value]) => value === byID("fault").value)?.[1] ?? "The provider has no fault.";
  };
  const explainScenario = () => {
    byID("scenario-words").textContent = scenarios.find((scenario) => scenario.name === byID("scenario").value)?.explanation ?? "";
  };
  byID("fault").addEventListener("change", explainFault);
  byID("scenario").addEventListener("change", explainScenario);
  explainFault();
  explainScenario();
}

export function bindPhone() {
  for (const action of ["lock", "unlock", "restart"]) byID(action).addEventListener("click", () => act(() => post("/api/device", { action })));
  byID("unlock-here").addEventListener("click", () => act(() => post("/api/device", { action: "unlock" })));
  byID("passcode").addEventListener("click", () => act(changePasscode));
  byID("start").addEventListener("click", start);
  byID("stop").addEventListener("click", () => act(() => post("/api/provider/stop")));
  byID("provision").addEventListener("click", () => act(provision));
  byID("presence").addEventListener("change", (event) => act(() => post("/api/presence/set", { answer: event.target.value })));
  setInterval(showClock, 10_000);
}
