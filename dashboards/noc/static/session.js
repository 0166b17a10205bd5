// The session of this browser, where it logged in: who it is, how to log out, and what to do when it is over.
import { byId, setText } from "./dom.js";

const RETRY_MS = 10_000;

const name = /(?:^|; )fabricscope_name=([^;]*)/.exec(document.cookie)?.[1];
byId("session").hidden = !name;
setText(byId("who"), name ?? "");
byId("session").addEventListener("submit", async (event) => {
  event.preventDefault();
  const headers = { "Content-Type": "application/json" };
  await fetch("/logout", { method: "POST", headers, body: "{}" }).catch(() => null);
  location.assign("/login");
});

/** A browser does not try a stream again that was refused. Where the session is over, a new load leads to the login. */
export async function loadAgain(wait_ms = 0) {
  await new Promise((done) => setTimeout(done, wait_ms));
  const answer = await fetch("/", { method: "HEAD" }).catch(() => null); // a load without an answer would be the last
  if (answer?.status === 401 || (answer && wait_ms)) location.reload();
  else loadAgain(RETRY_MS);
}
