# A startup file to try things on. No shell reads it from here.
alias ll='ls -l'
