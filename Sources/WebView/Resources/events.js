// The meaning of the provider's and the device's events: lanes, labels, mechanisms.

import { count, sizeWords } from "./dom.js";
import { lockWords } from "./phone.js";
import { state } from "./server.js";

/** The lanes of the diagram from left to right. */
export const laneNames = {
  consumer: "Consumer", os: "Picker/OS", provider: "Provider", service: "Password", keychain: "Keychain",
  pasteboard: "Pasteboard", token: "Token", system: "KeyChain",
};

/** The lanes of every diagram; the others appear with their first event. */
export function permanentLanes() {
  return state.platform === "android" ? ["consumer", "os", "provider", "system"] : ["consumer", "os", "provider", "keychain"];
}

export function laneName(lane) {
  return state.platform === "android" && lane === "os" ? "System" : laneNames[lane] ?? lane;
}

const osRequests = ["enumerate", "item", "services", "startAccessing", "stopAccessing", "present", "choose", "identities", "describe"];
const legacyKinds = ["present", "choose", "pasteboardWritten", "pasteboardRead", "pasteboardCleared"];
const modernKinds = ["enumerate", "item", "services", "startAccessing", "fetchPassword", "passwordChanged"];
const requestWords = {
  hello: "connects", enumerate: "list", item: "item", services: "services of", startAccessing: "start accessing", read: "read",
  fetchPassword: "fetch password", stopAccessing: "stop accessing", present: "list for types", choose: "export", describe: "describe",
  identities: "owners", statistics: "statistics",
};
const tokenWords = {
  tokens: "list tokens", tokenStatus: "status", tokenObjects: "list objects", use: "use key", useBegin: "begin to use key",
  useUpdate: "continue", useEnd: "end", useCancel: "cancel",
};
const aliasWords = { aliasQuery: "query aliases", aliasChoose: "choose key" };
/** What the subject of a key use begins with if the key is one of KeyChain. */
const keyChainPrefix = "keychain:";
/** The lane of the key that a connection began to use, because the parts of a message have no subject. */
const useLanes = new Map();

/** The lane whose key a request uses. */
function keyLane(event) {
  if (event.subject) useLanes.set(event.connection, event.subject.startsWith(keyChainPrefix) ? "system" : "token");
  return event.kind.startsWith("use") ? useLanes.get(event.connection) ?? "token" : "token";
}

/** A broadcast: those of the system come from KeyChain, those of Purebred from the provider. */
function broadcast(event) {
  const isSystem = event.subject.startsWith("android.");
  const name = event.subject.split(".").at(-1);
  return { from: isSystem ? "system" : "provider", to: "consumer", label: event.message ? `${name} ${event.message}` : name };
}

/** A dialog of the system: the app asks for a permission, KeyChain for a key. */
function dialog(event, isAnswer) {
  const [from, words] = event.message === "choose-key" ? ["system", "asks for a key"] : ["consumer", "asks for READ_ALIAS"];
  return isAnswer ? { from: "os", to: from, label: "the user answers" } : { from, to: "os", label: words };
}

/** The lanes and the label of an event; null for an event that is not drawn. */
export function picture(event) {
  const isBad = event.outcome !== "ok";
  const app = (subject) => (subject.includes("consumer") ? "consumer" : "provider");
  switch (event.kind) {
    case "opened": return null;
    case "closed":
      return event.message === "the peer closed" ? null : { note: "provider", label: `connection closed: ${event.message}`, isBad: true };
    case "deviceState": return { note: "os", label: `device ${(lockWords[event.subject] ?? event.subject).toLowerCase()}` };
    case "passwordChanged": return { note: "service", label: "password replaced" };
    case "tokensChanged": return { note: "token", label: "tokens changed" };
    case "presenceAsked": return { from: "token", to: "os", label: "asks for user presence" };
    case "presenceAnswered": return { from: "os", to: "token", label: "the user answers" };
    case "serving": return { note: "provider", label: "provider serves" };
    case "stopped": return { note: "provider", label: "provider stopped" };
    case "lost": return { note: "provider", label: `${event.subject} events lost`, isBad: true };
    case "keychainAdded": return { from: event.subject, to: "keychain", label: `adds ${count(Number(event.message), "identity", "identities")}` };
    case "keychainRemoved": return { from: event.subject, to: "keychain", label: `removes ${count(Number(event.message), "identity", "identities")}` };
    case "dialogOpened": return dialog(event, false);
    case "dialogAnswered": return dialog(event, true);
    case "broadcast": return broadcast(event);
    case "pasteboardWritten": return { from: app(event.subject), to: "pasteboard", label: "copies" };
    case "pasteboardRead": return { from: "pasteboard", to: app(event.subject), label: isBad ? `paste ${event.outcome}` : "pastes", isBad };
    case "pasteboardCleared": return { note: "pasteboard", label: "cleared" };
  }
  const isToken = Object.hasOwn(tokenWords, event.kind);
  const from = event.client === "document picker" || osRequests.includes(event.kind) ? "os" : "consumer";
  const to = isToken ? keyLane(event) : event.kind === "aliasChoose" ? "system" : event.kind === "fetchPassword" ? "service" : "provider";
  const words = tokenWords[event.kind] ?? aliasWords[event.kind] ?? requestWords[event.kind] ?? event.kind;
  const subject = event.subject.startsWith(keyChainPrefix) ? event.subject.slice(keyChainPrefix.length) : event.subject;
  const reply = isBad ? event.outcome : event.sent !== undefined ? sizeWords(event.sent) : "";
  return { from, to, label: subject ? `${words} ${subject}` : words, reply, time: event.duration, isBad };
}

/** The mechanism of each connection, if its requests show it. */
export function connectionMechanisms(events) {
  const mechanisms = new Map();
  for (const event of events) {
    if (event.connection === undefined || event.connection === null) continue;
    if (event.kind === "present" || event.kind === "choose") mechanisms.set(event.connection, "legacy");
    else if (modernKinds.includes(event.kind) && !mechanisms.has(event.connection)) mechanisms.set(event.connection, "2025");
  }
  return mechanisms;
}

/** The events of a mechanism. Additions to a keychain belong to the mechanism of the request before them. */
export function eventsOf(mechanism, events, connections) {
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

export function eventSentence(event) {
  const look = picture(event);
  if (!look) return `${event.kind} ${event.message}`;
  if (look.note) return look.label;
  return `${laneName(look.from)} to ${laneName(look.to)}: ${look.label}${look.reply ? `, ${look.reply}` : ""}${look.isBad && event.message ? `, ${event.message}` : ""}`;
}

