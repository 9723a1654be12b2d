// Views: arrow keys move between tabs.
const tabs = [...document.querySelectorAll('[role="tab"]')];

function select(tab) {
  for (const each of tabs) {
    const isChosen = each === tab;
    each.setAttribute('aria-selected', String(isChosen));
    each.tabIndex = isChosen ? 0 : -1;
    document.getElementById(each.getAttribute('aria-controls')).hidden = !isChosen;
  }
  tab.focus();
}

for (const [i, tab] of tabs.entries()) {
  tab.addEventListener('click', () => select(tab));
  tab.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step) select(tabs[(i + step + tabs.length) % tabs.length]);
  });
}
