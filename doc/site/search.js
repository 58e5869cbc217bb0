// The search of rlflow's site: a box over the words of all pages, which are in
// search-index.js: [[address, title, [[id, heading, text], ...]], ...]. Without
// scripts there is no box, and nothing else is missing.
(function () {
  'use strict';
  var root = document.currentScript.getAttribute('data-root');
  var place = document.getElementById('site-search');
  var box = document.createElement('input');
  box.type = 'search';
  box.placeholder = 'Search (press /)';
  box.setAttribute('aria-label', 'Search in all pages');
  place.appendChild(box);
  var list = null;
  var state = 'none'; // of the index: none, asked, here

  function close() {
    if (list) place.removeChild(list);
    list = null;
  }

  function add(parent, kind, text) {
    var element = document.createElement(kind);
    if (text) element.textContent = text;
    parent.appendChild(element);
    return element;
  }

  // What it is worth that a text has a word: a third if it only ends or goes on
  // inside of another one.
  function worth(text, word, whole, most) {
    if (text.indexOf(word) < 0) return 0;
    return whole.test(text) ? most : most / 3;
  }

  // How well a part of a page fits the words: 0 if one is nowhere in it.
  function score(words, title, heading, text) {
    var sum = 0;
    for (var i = 0; i < words.length; i++) {
      var word = words[i];
      var whole = new RegExp('(^|[^a-z0-9_])' + word.replace(/[^a-z0-9_]/g, '\\$&') + '([^a-z0-9_]|$)');
      var found = worth(title, word, whole, 4) + worth(heading, word, whole, 8) +
        worth(text, word, whole, 2);
      if (!found) return 0;
      sum += found;
    }
    return sum;
  }

  function around(text, words) {
    var at = text.toLowerCase().indexOf(words[0]);
    if (at < 0) return text.slice(0, 120);
    var from = Math.max(0, at - 50);
    return (from ? '… ' : '') + text.slice(from, at + 90) + (at + 90 < text.length ? ' …' : '');
  }

  function show() {
    close();
    var words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length || state !== 'here') return;
    var hits = [];
    window.rlflow_index.forEach(function (page) {
      page[2].forEach(function (part) {
        var points = score(words, page[1].toLowerCase(), part[1].toLowerCase(), part[2].toLowerCase());
        if (points) hits.push({ points: points, order: hits.length, page: page, part: part });
      });
    });
    hits.sort(function (a, b) { return b.points - a.points || a.order - b.order; });
    list = add(place, 'ol');
    if (!hits.length) add(list, 'li', 'Nothing has all of these words.').className = 'none';
    hits.slice(0, 30).forEach(function (hit) {
      var link = add(add(list, 'li'), 'a');
      var heading = hit.part[1] && hit.part[1] !== hit.page[1] ? ' › ' + hit.part[1] : '';
      link.href = root + hit.page[0] + (hit.part[0] ? '#' + encodeURIComponent(hit.part[0]) : '');
      link.textContent = hit.page[1] + heading;
      add(link, 'small', around(hit.part[2], words));
    });
  }

  function load() {
    if (state !== 'none') return;
    state = 'asked';
    var script = document.createElement('script');
    script.src = root + 'search-index.js';
    script.onload = function () { state = 'here'; show(); };
    document.head.appendChild(script);
  }

  var asked = /[?&]q=([^&]*)/.exec(location.search); // page.html?q=words
  if (asked) {
    box.value = decodeURIComponent(asked[1].replace(/\+/g, ' '));
    load();
  }
  box.addEventListener('focus', load);
  box.addEventListener('input', show);
  document.addEventListener('keydown', function (event) {
    var links = list ? Array.prototype.slice.call(list.querySelectorAll('a')) : [];
    var at = links.indexOf(document.activeElement);
    if (event.key === '/' && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      box.focus();
      event.preventDefault();
    } else if (event.key === 'Escape') {
      close();
    } else if (links.length && (event.key === 'ArrowDown' || event.key === 'ArrowUp') &&
        place.contains(document.activeElement)) {
      var next = at + (event.key === 'ArrowDown' ? 1 : -1);
      (links[next] || box).focus();
      event.preventDefault();
    } else if (event.key === 'Enter' && document.activeElement === box && links.length) {
      links[0].click();
    }
  });
  document.addEventListener('click', function (event) {
    if (!place.contains(event.target)) close();
  });
})();
