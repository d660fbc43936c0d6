// The search of the site. The index is a script of its own, search-index.js, loaded when somebody
// first searches: pages are opened from files too, where a script may load scripts but no data.
(() => {
  const field = document.getElementById('search');
  const list = document.getElementById('found');
  const root = field.dataset.root;
  const MOST = 20;
  let chosen = 0;
  let isAsked = false;

  function load() {
    if (isAsked) return;
    isAsked = true;
    const script = document.createElement('script');
    script.src = `${root}search-index.js`;
    script.addEventListener('load', show);
    document.head.append(script);
  }

  /** Sections that have every word; those that have it in a heading come first. */
  function find(text) {
    const words = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
    if (words.length === 0 || !window.searchIndex) return [];
    return window.searchIndex
      .map((section) => ({ section, score: scoreOf(section, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, MOST)
      .map(({ section }) => section);
  }

  function scoreOf({ title, heading, text }, words) {
    let score = 1;
    for (const word of words) {
      if (heading.toLowerCase().includes(word)) score += 10;
      else if (title.toLowerCase().includes(word)) score += 5;
      else if (text.toLowerCase().includes(word)) score += 1;
      else return 0;
    }
    return score;
  }

  function excerpt(text, word) {
    const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
    return `${at > 0 ? '\u2026' : ''}${text.slice(at, at + 120)}`;
  }

  function element(tag, name, text) {
    const made = document.createElement(tag);
    made.className = name;
    made.textContent = text;
    return made;
  }

  function show() {
    const text = field.value;
    const sections = find(text);
    chosen = 0;
    list.hidden = text.trim() === '';
    list.replaceChildren(...sections.map(({ url, title, heading, text: body }) => {
      const link = element('a', 'hit', '');
      link.href = root + url;
      link.setAttribute('role', 'option');
      link.append(element('strong', '', heading || title), element('span', '', heading ? title : ''),
        element('small', '', excerpt(body, text.toLowerCase().split(/\s+/)[0])));
      return link;
    }));
    if (sections.length === 0 && window.searchIndex) list.append(element('p', '', 'No page has all of these words.'));
    mark();
  }

  function mark() {
    [...list.querySelectorAll('a')].forEach((link, i) => link.setAttribute('aria-selected', String(i === chosen)));
  }

  field.addEventListener('focus', load);
  field.addEventListener('input', show);
  field.addEventListener('keydown', (event) => {
    const links = list.querySelectorAll('a');
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      chosen = Math.min(Math.max(0, chosen + (event.key === 'ArrowDown' ? 1 : -1)), Math.max(0, links.length - 1));
      event.preventDefault();
      mark();
      links[chosen]?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter') links[chosen]?.click();
    else if (event.key === 'Escape') {
      field.value = '';
      show();
    }
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    field.focus();
  });
})();
