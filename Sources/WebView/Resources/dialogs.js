// The sheets on the phone: questions to the user about the pasteboard, a token's key, a permission, or a key of KeyChain.

import { button, byID, make } from "./dom.js";
import { act, post, state } from "./server.js";
import { isNarrow, showTab } from "./layout.js";

/** The name of an app with this bundle identifier; an app's extensions have its name. */
export function appName(identifier) {
  const names = { "red.hound.keyshare.provider": "Provider", "red.hound.keyshare.consumer": "Consumer" };
  return Object.entries(names).find(([prefix]) => identifier.startsWith(prefix))?.[1] ?? identifier;
}

let shownQuestions = "[]";
/** The alias that the user selected in a chooser, by the number of the dialog. It survives a redrawn sheet. */
const selections = new Map();

/** Shows the oldest question as a sheet on the phone. The rest of the page remains usable. */
export function showQuestions() {
  const { questions, presence, android } = state.phone;
  const key = JSON.stringify([questions, presence.question, android.dialogs]);
  if (key === shownQuestions) return;
  shownQuestions = key;
  const sheets = [
    ...questions.map((question) => () => sheet(
      `${appName(question.reader)} would like to paste from ${appName(question.owner)}`,
      "The pasteboard contains the password. Do you want to allow this?",
      [["deny", "Don’t allow paste"], ["allow", "Allow paste"]],
      (answer) => post("/api/answer", { number: question.number, allow: answer === "allow" }))),
    ...android.dialogs.map((dialog) => () => (dialog.kind === "read-alias" ? permissionPrompt(dialog) : chooser(dialog))),
  ];
  const number = presence.question ?? null;
  if (number !== null) {
    sheets.push(() => sheet("An app wants to use a key of the token.", "Confirm that you are the user of this device.",
      [["cancel", "Cancel"], ["deny", "Fail"], ["allow", "Confirm"]],
      (answer) => post("/api/presence/answer", { number, answer })));
  }
  const hadFocus = byID("questions").contains(document.activeElement);
  byID("questions").hidden = sheets.length === 0;
  byID("questions").replaceChildren(...sheets.slice(0, 1).map((create) => create()));
  if (sheets.length > 0) {
    if (isNarrow()) showTab("phone");
    const target = byID("questions").querySelector("input:checked") ?? byID("questions").querySelector("input, button");
    target.focus({ preventScroll: true });
  } else if (hadFocus) {
    const places = ["result", "alias-result"].map(byID);
    places.find((place) => place.checkVisibility())?.focus({ preventScroll: true });
  }
}

function sheet(title, explanation, answers, send, contents = []) {
  return make("div", { class: "sheet", role: "alertdialog", "aria-labelledby": "sheet-title", "aria-describedby": "sheet-words" },
    make("p", { id: "sheet-title" }, make("strong", {}, title)),
    make("p", { id: "sheet-words", class: "soft" }, explanation),
    ...contents,
    make("div", { class: "answers" }, ...answers.map(([answer, words]) =>
      button(words, () => act(() => send(answer)), { "data-answer": answer, class: answer === "allow" ? "primary" : null }))));
}

/** The prompt of Android for the permission that a query needs. */
function permissionPrompt(dialog) {
  return sheet(
    `Allow ${appName(dialog.app)} to read aliases?`,
    "The app gets the alias, the certificate and the type of every key. It asks again before it uses a key.",
    [["cancel", "Back"], ["deny", "Don’t allow"], ["allow", "Allow"]],
    (answer) => post("/api/aliases/answer", { number: dialog.number, answer }));
}

/** KeyChain's chooser: the user confirms the preselected alias, selects another one, or refuses. */
function chooser(dialog) {
  const host = dialog.host ? ` It requests the key for the server ${dialog.host}${dialog.port ? `:${dialog.port}` : ""}.` : "";
  const selected = selections.get(dialog.number) ?? dialog.preselected;
  const list = make("div", { class: "choices", role: "radiogroup", "aria-label": "Certificates" },
    ...dialog.offered.map((entry) => {
      const box = make("input", { type: "radio", name: "offered", value: entry.alias, checked: entry.alias === selected });
      box.addEventListener("change", () => {
        selections.set(dialog.number, entry.alias);
        allow.disabled = false;
      });
      return make("label", { class: "choice" }, box,
        make("span", { class: "lines" }, make("span", { class: "name" }, entry.alias), make("span", { class: "sub" }, entry.subject)));
    }));
  const box = sheet(
    "Choose a certificate",
    `${appName(dialog.app)} may use the selected key until you revoke its grant.${host}`,
    [["cancel", "Back"], ["deny", "Deny"], ["allow", "Allow"]],
    (answer) => post("/api/aliases/answer", {
      number: dialog.number, answer, alias: answer === "allow" ? selections.get(dialog.number) ?? null : null,
    }), [list]);
  const allow = box.querySelector("[data-answer=allow]");
  allow.disabled = !dialog.offered.some((entry) => entry.alias === selected);
  return box;
}
