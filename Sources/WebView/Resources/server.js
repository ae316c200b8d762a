// The state of the page, and its requests to the server. The page decides nothing about types, items or keys.

import { button, byID, make, sentence } from "./dom.js";

export const state = {
  /** The choices that do not change: types, faults, scenarios. */
  session: null,
  /** The device, the provider, the keychains and the imports. */
  phone: null,
  /** The chosen phone: `iphone` or `android`. */
  platform: "iphone",
  request: { mechanism: "2025", types: [], container: "root", items: [] },
  picker: null,
  rows: [],
  /** The index in `picker.reasons` of the decision about each row. */
  decisions: [],
};

export async function get(path) {
  const response = await fetch(path);
  if (!response.ok) throw { message: await response.text() };
  return response.json();
}

export async function post(path, body = {}) {
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

/** Shows a failure at the top of the page, or removes it. */
export function tell(error) {
  const box = byID("notice");
  box.replaceChildren();
  box.hidden = !error;
  if (!error) return;
  box.append(make("p", {}, sentence(error.message ?? String(error))));
  if (error.hint) box.append(make("p", { class: "soft" }, `Hint: ${error.hint}`));
  box.append(button("Close", () => tell(null)));
}

/** Runs an action of the user, and shows its failure. */
export async function act(action) {
  tell(null);
  try {
    await action();
  } catch (error) {
    tell(error);
  }
}

/** Reports a text to a screen reader. The page shows it elsewhere. */
export function announce(text) {
  byID("announcement").textContent = text;
}
