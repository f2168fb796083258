# house.cmake -- the tests that are about the house and not about ids: layers, documents, scripts, installation.

# house_test(name label seconds command...)
function(house_test name label seconds)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${seconds})
endfunction()

set(HERE ${CMAKE_CURRENT_LIST_DIR})
house_test(layers layers 300 Python3::Interpreter ${HERE}/includes/check.py ${PROJECT_SOURCE_DIR})
house_test(layers_can_fail layers 300 Python3::Interpreter ${HERE}/includes/check.py --self-test)
house_test(atomics layers 300 Python3::Interpreter ${HERE}/includes/atomics.py ${PROJECT_SOURCE_DIR})
house_test(atomics_can_fail layers 300 Python3::Interpreter ${HERE}/includes/atomics.py --self-test ${PROJECT_SOURCE_DIR})
house_test(docs_can_fail docs 300 Python3::Interpreter ${HERE}/docs/run.py --build ${CMAKE_BINARY_DIR} --self-test)
house_test(docs docs 300 Python3::Interpreter ${HERE}/docs/run.py --build ${CMAKE_BINARY_DIR})
house_test(scripts_packages scripts 300 ${HERE}/scripts/packages ${PROJECT_SOURCE_DIR})
house_test(scripts_count scripts 300 ${HERE}/scripts/count ${PROJECT_SOURCE_DIR})
house_test(scripts_serve scripts 300 ${HERE}/scripts/serve ${PROJECT_SOURCE_DIR})
if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize") # users' programs are built without our flags
  house_test(install install 300 ${HERE}/install/run ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  if(TARGET vesta_store_sqlite AND TARGET vesta_store_mysql AND TARGET vesta_store_zk AND TARGET vesta_wire_redis)
    house_test(packages install 600 ${HERE}/packages/contents ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  endif()
endif()
