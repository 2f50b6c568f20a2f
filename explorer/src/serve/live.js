// Asks for the view again when rules change, and runs calls. On other pages it only loads the page again.
(() => {
  "use strict";
  const view = document.getElementById("view");
  const state = document.getElementById("state");
  let example = "0";
  let latest = 0;

  const asked = () => {
    const query = new URLSearchParams();
    query.set("op", document.forms.ask.op.value.trim());
    query.set("example", example);
    for (const id of ["opset0", "opset1"]) query.append("opset", document.getElementById(id).value);
    return query;
  };

  const show = async () => {
    const mine = ++latest;
    const answer = await fetch("/live/view?" + asked());
    const html = await answer.text();
    // A later answer may have come first.
    if (mine !== latest) return;
    view.innerHTML = html;
    view.querySelector("[data-ask=example]")?.addEventListener("change", (event) => {
      example = event.target.value;
      show();
    });
  };

  if (view) {
    const given = new URLSearchParams(location.search).get("op");
    if (given) document.forms.ask.op.value = given;
    document.forms.ask.addEventListener("change", () => { example = "0"; show(); });
    document.forms.ask.addEventListener("submit", (event) => { event.preventDefault(); show(); });
    const run = async (path) => {
      const place = document.getElementById("called");
      place.textContent = "…";
      const answer = await fetch(path + "?" + asked(), { method: "POST", body: document.forms.call.call.value });
      place.innerHTML = await answer.text();
    };
    document.forms.call.addEventListener("submit", (event) => { event.preventDefault(); run("/live/call"); });
    document.getElementById("compare").addEventListener("click", () => run("/live/compare"));
    show();
  }

  const events = new EventSource("/live/events");
  events.addEventListener("message", (event) => {
    const news = JSON.parse(event.data);
    if (!view) {
      if (news.ok) location.reload();
      return;
    }
    state.textContent = news.ok ? "Checked: no errors." : "Checked: the files have errors.";
    show();
  });
})();
