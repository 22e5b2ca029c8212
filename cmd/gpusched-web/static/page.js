'use strict';
// Converts times to the reader's zone, and replaces sections with those that the server sends.
(() => {
  const pad = (n) => String(n).padStart(2, '0');
  const day = (t) => `${t.getFullYear()}-${pad(t.getMonth() + 1)}-${pad(t.getDate())}`;

  // At most two units, as in 'gpusched list'.
  const span = (seconds) => {
    const s = Math.max(0, Math.floor(seconds));
    const pair = (big, small, b, c) => Math.floor(s / big) + b + (Math.floor((s % big) / small) ? Math.floor((s % big) / small) + c : '');
    if (s < 60) return s + 's';
    if (s < 3600) return Math.floor(s / 60) + 'm';
    if (s < 86400) return pair(3600, 60, 'h', 'm');
    return pair(86400, 3600, 'd', 'h');
  };

  const clock = (t, now) => (day(t) === day(now) ? '' : day(t) + ' ') + pad(t.getHours()) + ':' + pad(t.getMinutes());

  const forms = {
    clock,
    age: (t, now) => span((now - t) / 1000),
    ago: (t, now) => `${clock(t, now)} (${span((now - t) / 1000)} ago)`,
  };

  const tell = (where) => {
    const now = new Date();
    for (const e of where.querySelectorAll('time[data-form]')) {
      const t = new Date(e.dateTime);
      const form = forms[e.dataset.form];
      if (!form || Number.isNaN(t.getTime())) continue;
      const text = form(t, now);
      if (e.textContent !== text) e.textContent = text;
      if (!e.title) e.title = t.toString();
    }
    for (const e of where.querySelectorAll('[data-at]')) {
      const t = new Date(e.dataset.at);
      e.textContent = pad(t.getHours()) + ':' + pad(t.getMinutes());
    }
    for (const e of where.querySelectorAll('title[data-from]')) {
      const until = e.dataset.until ? clock(new Date(e.dataset.until), now) : 'an unknown end';
      e.textContent = `${e.dataset.text}, ${clock(new Date(e.dataset.from), now)} to ${until}`;
    }
  };

  tell(document);
  setInterval(() => tell(document), 1000);

  // Replaces a section, and keeps its focus and scroll positions.
  const renew = (section, html) => {
    const focus = section.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
    const scrolled = [...section.querySelectorAll('.wide')].map((e) => e.scrollLeft);
    const made = new DOMParser().parseFromString(html, 'text/html');
    section.replaceChildren(...made.body.childNodes);
    section.querySelectorAll('.wide').forEach((e, i) => { e.scrollLeft = scrolled[i] || 0; });
    if (focus) section.querySelector(`a[href="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
    tell(section);
  };

  const live = document.body.dataset.live;
  if (!live) return;
  const link = document.getElementById('link');
  const listen = (address) => {
    const source = new EventSource(address);
    source.addEventListener('section', (e) => {
      const { id, html } = JSON.parse(e.data);
      const section = document.getElementById(id);
      if (section) renew(section, html);
    });
    source.addEventListener('open', () => { link.hidden = true; });
    source.addEventListener('error', () => {
      link.textContent = 'Connection lost. This page shows the last state it received.';
      link.hidden = false;
    });
    return source;
  };

  // A hidden tab disconnects after a minute, and reconnects when it is shown again.
  let source = listen(live);
  let unseen;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(unseen);
    if (document.hidden) {
      unseen = setTimeout(() => { source.close(); source = null; }, 60000);
    } else if (!source) {
      source = listen('/live');
    }
  });
})();
