# ffi.cmake -- writes vesta_ffi.h: what vesta.h declares, for parsers of C without a preprocessor, such as FFI::load of PHP.
#   cmake -DCC=compiler -DHEADER=include/vesta.h -DLIBRARY=libvesta.so.0 -DOUT=file -P ffi.cmake
get_filename_component(include ${HEADER} DIRECTORY)
set(empty ${OUT}.empty) # these parsers know the types of the system's headers
file(MAKE_DIRECTORY ${empty})
foreach(name stddef.h stdint.h)
  file(WRITE ${empty}/${name} "")
endforeach()
execute_process(COMMAND ${CC} -E -P -nostdinc -I ${empty} -I ${include} ${HEADER} OUTPUT_VARIABLE text RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${CC} does not preprocess ${HEADER}")
endif()
string(REPLACE "__attribute__((visibility(\"default\"))) " "" text "${text}")
file(WRITE ${OUT} "#define FFI_SCOPE \"vesta\"
#define FFI_LIB \"${LIBRARY}\"
/* vesta_ffi.h -- the declarations of vesta.h, which is the manual, for FFI::load of PHP and other parsers of C.  The build
 * makes it from vesta.h. */
${text}")
