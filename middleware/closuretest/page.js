(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("data").textContent);
  var closed = new Set();

  // closing works out what leaves when some middlewares are closed: what requires them closes too, a segment leaves with
  // the last tool that it needs, finders leave with the last deferred tool, and without a finder deferred tools are direct.
  function closing(names) {
    var gone = new Set(names), cascades = [];
    data.middlewares.forEach(function (m) {
      var there = m.state === "live" || m.state === "unsupported";
      if (there && !gone.has(m.name) && m.requires.some(function (r) { return gone.has(r); })) {
        gone.add(m.name);
        cascades.push(m.name);
      }
    });
    var stays = data.facts.filter(function (f) { return !gone.has(f.owner); });
    var had = data.facts.some(function (f) { return f.finder; });
    var deferred = stays.some(function (f) { return f.surface === "search"; });
    var finders = stays.some(function (f) { return f.finder; });
    var left = stays.filter(function (f) { return !(f.finder && !deferred); });
    var tools = new Set(left.filter(function (f) {
      return f.surface === "tool" || f.surface === "search";
    }).map(function (f) { return f.name; }));
    left = left.filter(function (f) {
      return !f.needs || f.needs.some(function (n) { return tools.has(n); });
    });
    var kept = new Set(left);
    return {
      gone: gone, cascades: cascades,
      lost: data.facts.filter(function (f) { return !kept.has(f); }),
      direct: had && !finders ? left.filter(function (f) { return f.surface === "search"; }) : []
    };
  }

  function key(f) { return JSON.stringify([f.surface, f.name, f.owner]); }
  function plural(n, one) { return n + " " + one + (n === 1 ? "" : "s"); }
  function add(to, tag, text) { var e = document.createElement(tag); e.textContent = text; to.appendChild(e); }

  function show() {
    var now = closing(closed);
    var lost = new Set(now.lost.map(key)), direct = new Set(now.direct.map(key));
    document.querySelectorAll(".fact").forEach(function (e) {
      var k = JSON.stringify([e.dataset.surface, e.dataset.name, e.dataset.owner]);
      e.classList.toggle("off", lost.has(k));
      e.classList.toggle("new", direct.has(k));
    });
    document.querySelectorAll(".link").forEach(function (e) {
      var name = e.dataset.name, button = e.querySelector(".toggle");
      e.classList.toggle("gone", now.gone.has(name));
      button.setAttribute("aria-pressed", closed.has(name) ? "true" : "false");
      button.textContent = closed.has(name) ? "Open again" : "Close";
      button.setAttribute("aria-label", button.textContent + " " + name);
    });
    var told = document.getElementById("told");
    told.textContent = "";
    if (!closed.size) { return; }
    var p = document.createElement("p");
    add(p, "b", plural(now.lost.length, "fact") + " would vanish");
    add(p, "span", " with " + Array.from(closed).join(", ") + ".");
    if (now.cascades.length) { add(p, "span", " Closes along: " + now.cascades.join(", ") + "."); }
    if (now.direct.length) { add(p, "i", " " + plural(now.direct.length, "deferred tool") + " would become direct."); }
    told.appendChild(p);
  }

  document.querySelectorAll(".link").forEach(function (e) {
    var name = e.dataset.name, button = e.querySelector(".toggle");
    if (!e.classList.contains("live") && !e.classList.contains("unsupported")) { return; }
    button.hidden = false;
    button.addEventListener("click", function () {
      if (!closed.delete(name)) { closed.add(name); }
      show();
    });
  });
  document.getElementById("hint").textContent += " Close one to see what would vanish.";
  window.closing = function (name) {
    var now = closing([name]), takes = {};
    now.lost.forEach(function (f) { takes[f.surface] = (takes[f.surface] || 0) + 1; });
    return JSON.stringify({ takes: takes, cascades: now.cascades, direct: now.direct.map(function (f) { return f.name; }).sort() });
  };
})();
