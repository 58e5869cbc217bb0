'use strict';
// Programs of rlflow in Visual Studio Code: starts `rlflow lsp` and hands its
// answers on. No dependencies, nothing to build.
const vscode = require('vscode');
const { Client } = require('./client');

let client;
let diagnostics;

const position = (p) => new vscode.Position(p.line, p.character);
const range = (r) => new vscode.Range(position(r.start), position(r.end));
const location = (l) => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range));

function publish({ uri, diagnostics: list }) {
  const severities = [
    vscode.DiagnosticSeverity.Error, vscode.DiagnosticSeverity.Error,
    vscode.DiagnosticSeverity.Warning, vscode.DiagnosticSeverity.Information,
    vscode.DiagnosticSeverity.Hint];
  diagnostics.set(vscode.Uri.parse(uri), list.map((d) => {
    const one = new vscode.Diagnostic(range(d.range), d.message, severities[d.severity || 1]);
    one.code = d.code;
    one.source = d.source;
    one.relatedInformation = (d.relatedInformation || []).map(
      (r) => new vscode.DiagnosticRelatedInformation(location(r.location), r.message));
    return one;
  }));
}

const named = (document) => ({ uri: document.uri.toString() });
const isOurs = (document) => document.languageId === 'rlf';

function ask(method, document, at) {
  const params = { textDocument: named(document) };
  if (at) params.position = { line: at.line, character: at.character };
  return client.request(`textDocument/${method}`, params);
}

function opened(document) {
  if (!isOurs(document)) return;
  client.notify('textDocument/didOpen', { textDocument: {
    ...named(document), languageId: 'rlf', version: document.version,
    text: document.getText() } });
}

function changed(event) {
  if (!isOurs(event.document) || !event.contentChanges.length) return;
  client.notify('textDocument/didChange', {
    textDocument: { ...named(event.document), version: event.document.version },
    contentChanges: event.contentChanges.map((c) => ({
      range: { start: { line: c.range.start.line, character: c.range.start.character },
               end: { line: c.range.end.line, character: c.range.end.character } },
      text: c.text })) });
}

function closed(document) {
  if (isOurs(document)) client.notify('textDocument/didClose', { textDocument: named(document) });
}

async function hover(document, at) {
  const answer = await ask('hover', document, at);
  return answer && new vscode.Hover(new vscode.MarkdownString(answer.contents.value),
                                    range(answer.range));
}

async function definition(document, at) {
  const answer = await ask('definition', document, at);
  return answer && location(answer);
}

async function references(document, at, context) {
  const answer = await client.request('textDocument/references', {
    textDocument: named(document), position: { line: at.line, character: at.character },
    context: { includeDeclaration: context.includeDeclaration } });
  return answer && answer.map(location);
}

async function highlights(document, at) {
  const answer = await ask('documentHighlight', document, at);
  return answer && answer.map((a) => new vscode.DocumentHighlight(range(a.range)));
}

async function whichName(document, at) {
  const answer = await ask('prepareRename', document, at);
  if (!answer) throw new Error('no name that is declared in an open file stands there');
  return range(answer);
}

async function rename(document, at, newName) {
  const answer = await client.request('textDocument/rename', {
    textDocument: named(document), position: { line: at.line, character: at.character }, newName });
  const edit = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(answer.changes))
    for (const e of edits) edit.replace(vscode.Uri.parse(uri), range(e.range), e.newText);
  return edit;
}

async function completion(document, at) {
  const answer = await ask('completion', document, at);
  return answer && answer.items.map((item) => {
    // the protocol counts the kinds from 1, the editor from 0
    const one = new vscode.CompletionItem(item.label, item.kind - 1);
    one.detail = item.detail;
    one.documentation = item.documentation;
    one.sortText = item.sortText;
    one.insertText = item.textEdit.newText;
    one.range = range(item.textEdit.range);
    return one;
  });
}

function symbol(s) {
  const one = new vscode.DocumentSymbol(s.name, s.detail || '', s.kind - 1,
                                        range(s.range), range(s.selectionRange));
  one.children = s.children.map(symbol);
  return one;
}

async function symbols(document) {
  const answer = await ask('documentSymbol', document);
  return answer && answer.map(symbol);
}

async function format(document) {
  const answer = await client.request('textDocument/formatting', {
    textDocument: named(document), options: { tabSize: 4, insertSpaces: true } });
  return answer && answer.map((e) => new vscode.TextEdit(range(e.range), e.newText));
}

async function activate(context) {
  const path = vscode.workspace.getConfiguration('rlflow').get('path') || 'rlflow';
  diagnostics = vscode.languages.createDiagnosticCollection('rlflow');
  client = new Client(path, ['lsp'], (method, params) => {
    if (method === 'textDocument/publishDiagnostics') publish(params);
  }, (why) => {
    diagnostics.clear();
    vscode.window.showWarningMessage(
      `${path} lsp has ended (${why.trim()}). The setting rlflow.path says where rlflow is.`);
  });
  try {
    await client.request('initialize', {
      processId: process.pid, rootUri: null,
      capabilities: { textDocument: {
        hover: { contentFormat: ['markdown'] },
        publishDiagnostics: { relatedInformation: true } } } });
  } catch (why) {
    return; // it was told
  }
  client.notify('initialized', {});
  const ours = { language: 'rlf' };
  context.subscriptions.push(
    diagnostics,
    vscode.workspace.onDidOpenTextDocument(opened),
    vscode.workspace.onDidChangeTextDocument(changed),
    vscode.workspace.onDidCloseTextDocument(closed),
    vscode.languages.registerHoverProvider(ours, { provideHover: hover }),
    vscode.languages.registerDefinitionProvider(ours, { provideDefinition: definition }),
    vscode.languages.registerReferenceProvider(ours, { provideReferences: references }),
    vscode.languages.registerDocumentHighlightProvider(
      ours, { provideDocumentHighlights: highlights }),
    vscode.languages.registerRenameProvider(
      ours, { prepareRename: whichName, provideRenameEdits: rename }),
    vscode.languages.registerCompletionItemProvider(
      ours, { provideCompletionItems: completion }, '.', '"', '/'),
    vscode.languages.registerDocumentSymbolProvider(ours, { provideDocumentSymbols: symbols }),
    vscode.languages.registerDocumentFormattingEditProvider(
      ours, { provideDocumentFormattingEdits: format }));
  vscode.workspace.textDocuments.forEach(opened);
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
