;; The snippet of editors/README.md, which the test has put into snippet.el, in
;; Emacs with eglot. Writes "ok NAME" and "not ok NAME" into `seen`.
(require 'package)
(package-initialize)
(require 'eglot)
(require 'flymake)
(defvar checks nil)
(defun check (good name &optional seen)
  (push (format "%s %s" (if good "ok" "not ok") name) checks)
  (unless good (push (format "# %S" seen) checks)))
(defun wait-for (condition)
  (let ((end (+ (float-time) 20)))
    (while (and (not (funcall condition)) (< (float-time) end))
      (accept-process-output nil 0.05))
    (funcall condition)))
(defun wrong ()
  (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))
(condition-case why
    (progn
      (load (expand-file-name "snippet.el") nil t)
      (setq eglot-sync-connect t eglot-send-changes-idle-time 0
            flymake-no-changes-timeout nil)
      (find-file "p.rlf")
      (check (eq major-mode 'rlf-mode) "a program has its mode" major-mode)
      (call-interactively #'eglot)
      (flymake-start)
      (check (wait-for (lambda () (flymake-start)
                         (string-match-p "'w'" (format "%s" (wrong)))))
             "Emacs shows what is wrong" (wrong))
      (goto-char (point-min))
      (search-forward "double(3")
      (backward-char 4)
      (let ((hover (jsonrpc-request (eglot--current-server-or-lose)
                                    :textDocument/hover
                                    (eglot--TextDocumentPositionParams))))
        (check (string-match-p "def double(x)" (format "%S" hover)) "a hover"
               hover)))
  (error (check nil "the snippet" why)))
(with-temp-file "seen"
  (insert (mapconcat #'identity (reverse checks) "\n") "\n"))
(let ((kill-emacs-query-functions nil))
  (kill-emacs))
