// What can be read as plain text. In: a program's texts. Out: one of them at a time.

// [name, title, language]; reports and programs are prose and tables, in which colours of code would say nothing
const PLAIN = [
  ['report', 'Report', null],
  ['graph', 'Graph', 'loops'],
  ['gradient', 'Gradient graph', 'loops'],
  ['program', 'Program', null],
];

function textsView() {
  const body = el('div', { class: 'textbody' });
  const element = el('div', { class: 'view textsview' });
  let chosen = 'report';

  function draw() {
    const there = PLAIN.filter(([name]) => program()[name]);
    if (!there.some(([name]) => name === chosen)) chosen = there[0]?.[0];
    if (!chosen) return fill(element, el('p', { class: 'muted' }, 'There are no texts.'));
    const show = (name) => {
      chosen = name;
      list.show(name);
      const [, title, language] = PLAIN.find(([each]) => each === name);
      fill(body, codeBox(program()[name], language, title));
    };
    const list = tabList({
      label: 'Texts',
      tabs: there.map(([name, title]) => ({ name, title })),
      chosen,
      choose: show,
      panel: body,
      kind: 'small',
    });
    fill(element, list.list, body);
    return show(chosen);
  }

  return { element, changed: (names) => names.has('program') && draw(), started: draw };
}
