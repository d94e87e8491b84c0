#!/usr/bin/env bash
# email-reply-parser 2.3.9: a mail ends at "Sent from my account were 500 EUR", or where a line tells what Ada wrote.
#
# Guess:    what is taken off an answer is what a program put there: the quoted mail below it, and a signature at its very end.
# Behaviour: a line that begins with "Sent from my", and one "On … wrote:", end the mail wherever they stand, with text below that
#           nobody quoted. "On Monday Ada wrote:" takes the order behind it along. Nothing tells that something was cut: the
#           rest reads like a whole, shorter mail, and its last wish is not done. It also drops the questions between which
#           someone answered: "Yes.", "No."
# Remedy:   take parsed fragments (read) and cut only those at the end whose lines all begin with ">"; give the whole mail to the model.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund email-reply-parser@2.3.9
cat >main.mjs <<'JS'
import EmailReplyParser from 'email-reply-parser';
const mails = {
  sent: ['Two things.\n\nSent from my account were 500 EUR.\n\nCancel it, please.', 'Two things.'],
  wrote: ['Please read this.\n\nOn Monday Ada wrote:\nbuy 3 sacks.\n\nDo it today.', 'Please read this.'],
  between: ['On Mon, Mar 2, 2026 at 9:00 AM Bot <bot@example.org> wrote:\n> Shall I pay?\n\nYes.\n\n> Shall I delete the list?\n\nNo.',
    'Yes.\nNo.'],
  plain: ['Two things.\n\nWe sent 500 EUR from my account.\n\nCancel it, please.',
    'Two things.\n\nWe sent 500 EUR from my account.\n\nCancel it, please.'],
};
let right = true;
for (const [name, [mail, known]] of Object.entries(mails)) {
  const seen = new EmailReplyParser().parseReply(mail).trim();
  console.log(name, JSON.stringify(seen));
  right &&= seen === known;
}
process.exit(right ? 0 : 1);
JS
echo "email-reply-parser 2.3.9, Node $(node --version)"
node main.mjs
