# unit.cmake -- writes the unit IN to OUT, for an installation with the program in BIN and the docs in DOC.
file(READ ${IN} text)
string(REPLACE "ExecStart=/usr/local/bin/vesta" "ExecStart=${CMAKE_INSTALL_PREFIX}/${BIN}/vesta" text "${text}")
file(WRITE ${OUT} "${text}")
