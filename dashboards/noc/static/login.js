// The token goes where every program sends it, in the header: a page of another origin cannot do that.
const problem = document.getElementById("problem");
const token = document.getElementById("token");

document.getElementById("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.textContent = "";
  const answer = await ask(token.value.trim());
  if (answer?.ok) return location.replace(next());
  problem.textContent = answer ? words(answer) : "Fabricscope does not answer. Try again.";
  token.select();
});

async function ask(secret) {
  if (!/^[!-~]+$/.test(secret)) return { status: 401 }; // nothing else fits into a header, and no token has it
  const headers = { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" };
  return fetch("/login", { method: "POST", headers, body: "{}" }).catch(() => null);
}

function words(answer) {
  if (answer.status === 401) return "This token is not known here, or it has expired.";
  if (answer.status === 403) return "This token may not read: it lacks the scope read.";
  if (answer.status === 429) return `Too many attempts. Try again in ${answer.headers.get("Retry-After")} s.`;
  return `Fabricscope cannot do that now (status ${answer.status}).`;
}

/** Where the person wanted to go, with its fragment: a page of this origin, whatever the address says. */
function next() {
  const given = new URLSearchParams(location.search).get("next") ?? "/";
  const wanted = new URL(URL.canParse(given, location.origin) ? given : "/", location.origin);
  if (wanted.origin !== location.origin || wanted.protocol !== location.protocol) return "/";
  wanted.hash ||= location.hash;
  return wanted.href;
}
