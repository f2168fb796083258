# unit.cmake -- writes OUT, the unit IN for the prefix that is installed to, in which the program is in BIN, the docs in DOC.
file(READ ${IN} text)
string(REPLACE "ExecStart=/usr/local/bin/vesta" "ExecStart=${CMAKE_INSTALL_PREFIX}/${BIN}/vesta" text "${text}")
file(WRITE ${OUT} "${text}")
