'use strict';
// The extension for Visual Studio Code in an editor that is made up here. Prints
// "ok NAME" and "not ok NAME": node vscode.js SOURCE RLFLOW.
const Module = require('module');
const path = require('path');
const [source, rlflow] = process.argv.slice(2);

function ok(good, name, seen) {
  console.log(`${good ? 'ok' : 'not ok'} ${name}`);
  if (!good) console.log('#', JSON.stringify(seen));
}

class Position { constructor(line, character) { Object.assign(this, { line, character }); } }
class Range { constructor(start, end) { Object.assign(this, { start, end }); } }
class Uri {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
  static parse(text) { return new Uri(text); }
}
const plain = (...names) => class { constructor(...values) { names.forEach((n, i) => { this[n] = values[i]; }); } };
const listeners = {};
const providers = {};
const published = new Map();
let told = null;
let waiting = null;
const on = (name) => (f) => { listeners[name] = f; return { dispose() {} }; };
const provide = (name) => (selector, provider) => { providers[name] = provider; return { dispose() {} }; };
const vscode = {
  Position, Range, Uri,
  Diagnostic: plain('range', 'message', 'severity'),
  DiagnosticRelatedInformation: plain('location', 'message'),
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
  Hover: plain('contents', 'range'), MarkdownString: plain('value'),
  Location: plain('uri', 'range'), CompletionItem: plain('label', 'kind'),
  DocumentSymbol: plain('name', 'detail', 'kind', 'range', 'selectionRange'),
  TextEdit: plain('range', 'newText'), DocumentHighlight: plain('range'),
  WorkspaceEdit: class {
    constructor() { this.edits = []; }
    replace(...edit) { this.edits.push(edit); }
  },
  workspace: {
    getConfiguration: () => ({ get: () => vscode.path }),
    textDocuments: [],
    onDidOpenTextDocument: on('open'), onDidChangeTextDocument: on('change'),
    onDidCloseTextDocument: on('close'),
  },
  languages: {
    createDiagnosticCollection: () => ({
      set(uri, list) { published.set(String(uri), list); if (waiting) waiting(); },
      clear() {}, dispose() {} }),
    registerHoverProvider: provide('hover'),
    registerDefinitionProvider: provide('definition'),
    registerReferenceProvider: provide('references'),
    registerDocumentHighlightProvider: provide('highlights'),
    registerRenameProvider: provide('rename'),
    registerCompletionItemProvider: provide('completion'),
    registerDocumentSymbolProvider: provide('symbols'),
    registerDocumentFormattingEditProvider: provide('format'),
  },
  window: { showWarningMessage(text) { told = text; } },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));
const next = () => new Promise((resolve) => { waiting = resolve; });

async function main() {
  const extension = require(path.join(source, 'editors/vscode/extension.js'));
  const document = {
    languageId: 'rlf', version: 1, uri: new Uri('file:///none/p.rlf'),
    text: 'def double(x) = x * 2\nflow  f() {\n    y = double(3)\n    report z = w\n}\n',
    getText() { return this.text; } };
  vscode.workspace.textDocuments.push(document);
  vscode.path = rlflow;
  const first = next();
  await extension.activate({ subscriptions: [] });
  await first;
  let list = published.get('file:///none/p.rlf');
  ok(list.some((d) => d.severity === 0 && d.message.includes("'w'") && d.range.start.line === 3),
     'the extension shows what is wrong', list);
  document.version = 2;
  const second = next();
  listeners.change({ document, contentChanges: [
    { range: new Range(new Position(3, 15), new Position(3, 16)), text: 'y' }] });
  await second;
  list = published.get('file:///none/p.rlf');
  ok(list.every((d) => d.severity !== 0), 'a change of a letter', list);
  const twice = { ...document, uri: new Uri('file:///none/twice.rlf'),
    text: 'def f(x) = x\ndef f(x) = 2\n', getText() { return this.text; } };
  // another document may be told of first
  const third = (async () => {
    do await next(); while (!published.get('file:///none/twice.rlf'));
  })();
  listeners.open(twice);
  await third;
  list = published.get('file:///none/twice.rlf');
  ok(list.some((d) => d.relatedInformation.some((r) => r.message === 'first here' &&
       r.location.range.start.line === 0)), 'the other place of a diagnostic', list);
  listeners.close(twice);
  const hover = await providers.hover.provideHover(document, new Position(2, 9));
  ok(hover && hover.contents.value.includes('def double(x)'), 'a hover', hover);
  const at = await providers.definition.provideDefinition(document, new Position(2, 9));
  ok(at && String(at.uri) === 'file:///none/p.rlf' && at.range.start.line === 0, 'a definition', at);
  const uses = await providers.references.provideReferences(
    document, new Position(2, 9), { includeDeclaration: true });
  ok(uses.map((u) => u.range.start.line).join() === '0,2', 'references', uses);
  const marks = await providers.highlights.provideDocumentHighlights(document, new Position(2, 5));
  ok(marks.map((m) => m.range.start.line).join() === '2,3', 'highlights', marks);
  const name = await providers.rename.prepareRename(document, new Position(2, 5));
  ok(name.start.line === 2 && name.start.character === 4, 'a name that can be another', name);
  const edit = await providers.rename.provideRenameEdits(document, new Position(2, 9), 'twice');
  ok(edit.edits.length === 2 && edit.edits.every((e) => e[2] === 'twice'), 'another name', edit);
  const refused = await providers.rename.provideRenameEdits(document, new Position(2, 9), 'y y')
    .catch((why) => String(why.message));
  ok(typeof refused === 'string' && refused.includes('letters'), 'a name that is none', refused);
  const items = await providers.completion.provideCompletionItems(document, new Position(2, 10));
  ok(items.some((i) => i.label === 'double' && i.kind === 2), 'a completion', items.length);
  const symbols = await providers.symbols.provideDocumentSymbols(document);
  ok(symbols.length === 2 && symbols[1].children[0].name === 'y', 'symbols', symbols);
  const edits = await providers.format.provideDocumentFormattingEdits(document);
  ok(edits.length === 1 && edits[0].newText.includes('\nflow f() {\n'), 'the standard form', edits);
  await extension.deactivate();
  ok(told === null, 'the server ends in order', told);
  vscode.path = '/none/rlflow';
  await extension.activate({ subscriptions: [] });
  ok(told && told.includes('rlflow.path'), 'a program that is not there is told of', told);
}

main().catch((why) => { ok(false, 'the extension', String(why.stack)); });
setTimeout(() => { ok(false, 'the extension comes to its end'); process.exit(1); }, 60000).unref();
